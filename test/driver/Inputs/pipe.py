"""Makes a named pipe, runs a program that writes to it, and copies what arrives to standard output.

Usage: pipe.py PIPE PROGRAM ARGUMENT.. ; ends with the program's exit code."""
import os
import subprocess
import sys

pipe, command = sys.argv[1], sys.argv[2:]
if not os.path.exists(pipe):
    os.mkfifo(pipe)
program = subprocess.Popen(command)
with open(pipe, "rb") as arriving:
    sys.stdout.buffer.write(arriving.read())
sys.exit(program.wait())
