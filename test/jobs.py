"""Processes of one job on this machine, as torchrun starts them, without torchrun."""
import collections
import os
import signal
import socket
import subprocess
import tempfile
import time

Outcome = collections.namedtuple("Outcome", "code out err")  # of a process; no code: it had to be ended


def variables(rank, ranks, port):
    """What torchrun sets, as far as ranks need it; rank 0 serves the store."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


class Job:
    """Its processes by rank, of those that are started; `command` gives that of a rank."""

    def __init__(self, ranks, command, environment=os.environ, absent=(), cwd=None):
        port = free_port()
        self.processes, self.files = {}, {}
        for rank in range(ranks):
            if rank in absent:
                continue
            self.files[rank] = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
            self.processes[rank] = subprocess.Popen(list(map(str, command(rank))), stdout=self.files[rank][0],
                                                    stderr=self.files[rank][1], cwd=cwd, env={**environment, **variables(rank, ranks, port)})

    def strike(self, rank, how):
        self.processes[rank].send_signal(how)

    def living(self):
        return [rank for rank, process in self.processes.items() if process.poll() is None]

    def wait(self, seconds, without=()):
        """Until all have ended, but those `without`; false if they have not in time."""
        end = time.monotonic() + seconds
        while set(self.living()) - set(without):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def end(self):
        """Ends what is left; the outcomes by rank."""
        left = self.living()
        for rank in left:
            self.processes[rank].send_signal(signal.SIGKILL)
        outcomes = {}
        for rank, process in self.processes.items():
            process.wait()
            texts = []
            for file in self.files[rank]:
                file.seek(0)
                texts.append(file.read())
                file.close()
            outcomes[rank] = Outcome(None if rank in left else process.returncode, *texts)
        return outcomes


def run(ranks, command, environment=os.environ, seconds=300, cwd=None):
    """The outcomes of a job whose processes have one command, by rank. One that fails leaves the others to find it out."""
    job = Job(ranks, lambda _: command, environment, cwd=cwd)
    try:
        job.wait(seconds)
    finally:
        outcomes = job.end()
    return list(outcomes.values())
