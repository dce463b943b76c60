"""What a program may take for a damaged input, and what it may say: for test/damage/sources and test/damage/files."""
import math
import pathlib
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import slowness

SECONDS, BYTES, CLOCK = 2, 1 << 30, 20
# Characters that a terminal obeys, and those that turn text around.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


asked, slow = -slowness.AGAIN, 1.0


def seconds():
    """Seconds of the processor that a program may take, on this machine as slow as it now is."""
    global asked, slow
    if time.monotonic() - asked > slowness.AGAIN:
        asked, slow = time.monotonic(), max(1.0, slowness.slowness())
    return math.ceil(SECONDS * slow)


def limit(most):
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, folder, **more):
    """Exit code, output, and what was said, or why there is none of these."""
    most = seconds()
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=CLOCK, preexec_fn=lambda: limit(most), stdin=subprocess.DEVNULL, **more)
    except subprocess.TimeoutExpired:
        return f"took more than {CLOCK} s"
    return ran.returncode, ran.stdout, ran.stderr


def readable(said, most):
    """Why this is nothing for a terminal, or nothing."""
    said = said.decode(errors="replace")
    if len(said) > most:
        return f"said {len(said)} characters"
    if "\ufffd" in said or CONTROL.search(said):
        return f"said what is no text: {said[:200]!r}"
    return ""
