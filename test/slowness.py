#!/usr/bin/env python3
"""How much slower one core is now than one of the machine for which scripts/tests.tsv gives times.

Neighbours of a virtual machine take its caches and clock without a trace in its own counters, for minutes at a time, so
it is asked again and again. They may slow what fills the caches to a half, and not a small loop, so both are
asked: a loop, and clang with a small file. Run as a program it writes a line "when, slowness" every 15 seconds, as long as
the shell that started it lives."""
import os
import resource
import shutil
import subprocess
import time

AGAIN = 15  # seconds
# On that machine. The compile has 0.51 s where test/precision/loss-scale has 34 s of the processor, and 16 in the table.
LOOP, COMPILE = 0.10, 0.24
CLANG = shutil.which("clang++-22")


def loop():
    begin = time.process_time()
    n = 0
    for i in range(1_300_000):
        n += i & 7
    return time.process_time() - begin


def compile():
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = spent()
    subprocess.run([CLANG, "-std=c++20", "-O1", "-S", "-x", "c++", "-", "-o", os.devnull],
                   input=b"#include <map>\n#include <string>\n", check=True, capture_output=True)
    return spent() - begin


def slowness():
    return max(loop() / LOOP, compile() / COMPILE if CLANG else 0)


def watch():
    shell = os.getppid()
    while os.getppid() == shell:
        print(f"{time.time():.3f}\t{slowness():.3f}", flush=True)
        time.sleep(AGAIN)


if __name__ == "__main__":
    watch()
