#!/usr/bin/env python3
"""PyTorch's TCPStore, written from the description of its bytes and without our code, as the other side in tests.

  tcpstore.py serve [--old | --trickle | --silent | --http | --die-in=OP]   prints its port, then serves until killed
  tcpstore.py use PORT                                                      a client: asserts what our server answers

--old: PyTorch up to 2.0, a magic before every message. --trickle: answers come byte by byte. --silent: takes
connections and says nothing. --http: is another server. --die-in=wait: ends at the first such message.
"""
import os
import socket
import struct
import sys
import threading
import time

MAGIC = struct.pack("<I", 0x3C85F7CE)
SET, GET, ADD, CHECK, WAIT, CANCEL, PING = 1, 3, 4, 5, 6, 12, 13
OPS = {"set": SET, "get": GET, "add": ADD, "check": CHECK, "wait": WAIT}

values, changed = {}, threading.Condition()


class Peer:
    def __init__(self, connection):
        self.connection = connection

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def number(self, kind):
        return struct.unpack("<" + kind, self.read(struct.calcsize("<" + kind)))[0]

    def text(self):
        return self.read(self.number("Q"))

    def send(self, data):
        self.connection.sendall(data)


def text(data):
    return struct.pack("<Q", len(data)) + data


class Server(Peer):
    def __init__(self, connection, mode):
        super().__init__(connection)
        self.mode, self.cancelled = mode, None

    def send(self, data):
        if self.mode != "--trickle":
            return super().send(data)
        for i in range(min(len(data), 64)):
            super().send(data[i:i + 1])
            time.sleep(0.001)
        super().send(data[64:])

    def answer_wait(self, keys, cancelled):
        with changed:
            changed.wait_for(lambda: cancelled.is_set() or all(key in values for key in keys))
        if not cancelled.is_set():
            self.send(b"\0")

    def message(self):
        if self.mode == "--old" and self.read(4) != MAGIC:
            raise EOFError
        op = self.read(1)[0]
        if self.mode.startswith("--die-in=") and op == OPS[self.mode[9:]]:
            os._exit(3)
        if op == SET:
            key, value = self.text(), self.text()
            with changed:
                values[key] = value
                changed.notify_all()
        elif op == GET:
            self.send(text(values[self.text()]))
        elif op == ADD:
            key, delta = self.text(), self.number("q")
            with changed:
                total = int(values.get(key, b"0")) + delta
                values[key] = str(total).encode()
                changed.notify_all()
            self.send(struct.pack("<q", total))
        elif op == CHECK:
            keys = [self.text() for _ in range(self.number("Q"))]
            self.send(b"\0" if all(key in values for key in keys) else b"\1")
        elif op == WAIT:
            keys, self.cancelled = [self.text() for _ in range(self.number("Q"))], threading.Event()
            threading.Thread(target=self.answer_wait, args=(keys, self.cancelled), daemon=True).start()
        elif op == CANCEL:
            with changed:
                self.cancelled.set()
                changed.notify_all()
            self.send(b"\1")
        else:
            raise EOFError

    def run(self):
        try:
            if self.mode == "--silent":
                time.sleep(60)
            if self.mode == "--http":
                self.connection.recv(1 << 16)
                self.connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            if self.mode != "--old" and self.read(5) != b"\0" + MAGIC:
                return
            while True:
                self.message()
        except (EOFError, OSError):
            pass
        finally:
            self.connection.close()


def serve(mode):
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=Server(connection, mode).run, daemon=True).start()


def connect(port):
    peer = Peer(socket.create_connection(("127.0.0.1", port), timeout=10))
    peer.send(b"\0" + MAGIC)
    return peer


def ask(peer, op, *parts, answer=None):
    peer.send(bytes([op]) + b"".join(parts))
    return answer and peer.number(answer)


def is_cut_off(port, data):
    peer = Peer(socket.create_connection(("127.0.0.1", port), timeout=10))
    peer.send(data)
    try:
        return peer.connection.recv(1) == b""
    except ConnectionResetError:
        return True


def use(port):
    a, b = connect(port), connect(port)
    one = struct.pack("<Q", 1)
    assert ask(a, PING, struct.pack("<I", 77), answer="I") == 77
    assert ask(a, CHECK, one, text(b"k"), answer="B") == 1
    ask(a, SET, text(b"k"), text(b"v\0w"))
    assert ask(a, CHECK, one, text(b"k"), answer="B") == 0
    a.send(bytes([GET]) + text(b"k"))
    assert a.text() == b"v\0w"
    assert ask(a, ADD, text(b"n"), struct.pack("<q", 40), answer="q") == 40
    assert ask(b, ADD, text(b"n"), struct.pack("<q", -42), answer="q") == -2
    b.send(bytes([GET]) + text(b"n"))
    assert b.text() == b"-2"  # digits, as PyTorch keeps them
    # One waits for two keys, and the other sets them, byte by byte.
    a.send(bytes([WAIT]) + struct.pack("<Q", 2) + text(b"x") + text(b"y"))
    for key in (b"x", b"y"):
        a.connection.settimeout(0.1)
        try:
            a.read(1)
            raise AssertionError("it did not wait")
        except TimeoutError:
            a.connection.settimeout(10)
        for byte in bytes([SET]) + text(key) + text(b""):
            b.send(bytes([byte]))
    assert a.read(1) == b"\0"
    a.send(bytes([WAIT]) + one + text(b"z") + bytes([CANCEL]))
    assert a.read(1) == b"\1"
    # Nobody gets an answer to a wait that has ended.
    ask(b, SET, text(b"z"), text(b""))
    assert ask(a, PING, struct.pack("<I", 5), answer="I") == 5
    # Several messages in one write, and a big value.
    big = bytes(range(256)) * (1 << 12)
    get = bytes([GET]) + text(b"big")
    for _ in range(5):  # what comes after answers that choke depends on who is faster
        b.send(bytes([SET]) + text(b"big") + text(big) + 5 * get + bytes([GET]) + text(b"k"))
        assert [b.text() == big for _ in range(5)] == 5 * [True] and b.text() == b"v\0w"
    huge = struct.pack("<Q", 1 << 40)
    for bad in (b"G", bytes([PING]) + MAGIC, 2 * (b"\0" + MAGIC), MAGIC + bytes([CHECK]), b"\0abcd", b"\0" + MAGIC + b"\x63", b"\0" + MAGIC + bytes([SET]) + huge,
                b"\0" + MAGIC + bytes([SET]) + text(b"k") + huge, b"\0" + MAGIC + bytes([WAIT]) + huge,
                b"\0" + MAGIC + bytes([ADD]) + text(b"k") + struct.pack("<q", 1)):
        assert is_cut_off(port, bad), bad
    assert ask(a, PING, struct.pack("<I", 6), answer="I") == 6


if __name__ == "__main__":
    if sys.argv[1] == "use":
        use(int(sys.argv[2]))
    else:
        serve(sys.argv[2] if len(sys.argv) > 2 else "")
