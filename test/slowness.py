#!/usr/bin/env python3
"""How much slower one core is now than one of the machine for which scripts/tests.tsv gives times.

Neighbours of a virtual machine take its caches and clock without a trace in its own counters, for minutes at a
time, so it is asked again and again. Run as a program it writes a line "when, slowness" each 8 seconds, as long as
the shell that started it lives."""
import os
import time

AGAIN = 8  # seconds


def slowness():
    """How much longer a loop takes that took 0.10 s there."""
    begin = time.process_time()
    n = 0
    for i in range(1_300_000):
        n += i & 7
    return (time.process_time() - begin) / 0.1


def watch():
    shell = os.getppid()
    while os.getppid() == shell:
        print(f"{time.time():.3f}\t{slowness():.3f}", flush=True)
        time.sleep(AGAIN)


if __name__ == "__main__":
    watch()
