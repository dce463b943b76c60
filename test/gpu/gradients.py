"""The tests of test/gradients, with programs for a GPU instead of those that they compile.

Here gradients-test runs once with RECORD_PROGRAMS, which writes each program down; they become shared objects. There
gradients-gpu, the same tests without a compiler, loads them.
"""
import os
import re
import subprocess

import gtests
from pack import BIN
from sections import ROOT, Failed

TABLE = ROOT / "test" / "gradients" / "rows.txt"
TOGETHER = 10  # of its rows, a row of ours
TINY = {"exp and sum_column": "Rows/*/exp:Rows/*/sum_column"}


def rows_of(table):
    """Row -> tests."""
    names = re.findall(r"^(\w+)(?: \[.*\])?:", table, re.M)
    rows = {}
    for group in (names[i:i + TOGETHER] for i in range(0, len(names), TOGETHER)):
        rows[f"{group[0]} to {group[-1]}"] = ":".join(f"Rows/*/{name}" for name in group)
    return rows | {"what losses are worth": "Losses.*", "states": "States.*"}


def pack(pack, section):
    rows = TINY if pack.tiny else rows_of(TABLE.read_text())
    pack.program("gradients-gpu")
    folder = pack.subfolder("gradients")
    done = subprocess.run([BIN / "gradients-test", f"--gtest_filter={':'.join(rows.values())}"], capture_output=True,
                          text=True, env={**os.environ, "RECORD_PROGRAMS": str(folder)})
    if done.returncode:
        raise Failed(f"gradients-test fails, so nothing is to be recorded: {done.stdout[-600:]}")
    for code in folder.glob("*.o"):
        subprocess.run(["c++", "-shared", "-o", code.with_suffix(".so"), code], check=True)
        code.unlink()
    pack.place("gradients", "rows.txt").write_text(TABLE.read_text())
    for name, tests in rows.items():
        pack.add(section, name, tests=tests)


def run(row, machine):
    folder = machine.pack / "gradients"
    done = machine.attempt(machine.pack / "bin" / "gradients-gpu", f"--gtest_filter={row['tests']}",
                           RECORDED_PROGRAMS=folder, ROWS_TXT=folder / "rows.txt")
    return gtests.verdict(done)
