"""Runs the command in the header of each example, as it stands there, in a folder that looks like the repository.

A command with `# refused: TEXT` is meant to fail with that error. What is written stays in that folder, and trainings are cut to two steps: that a command works is shown, not what it
trains.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = 0
for example in sorted((ROOT / "examples").glob("*.tplan")):
    head = example.read_text().split("\n\n")[0]
    commands = re.findall(r"^//     (tplanc .*)$", head, re.M)
    with tempfile.TemporaryDirectory() as scratch:
        for entry in "examples", "models", "build", "README.md", "CONTRIBUTING.md":
            (pathlib.Path(scratch) / entry).symlink_to(ROOT / entry)
        for command in commands:
            command = re.sub(r"--steps \d+", "--steps 2", command)
            run = subprocess.run(command, shell=True, cwd=scratch, capture_output=True, text=True, errors="replace")
            refused = command.partition("# refused: ")[2]
            ok = run.returncode == 1 and refused in run.stderr if refused else run.returncode == 0
            if not ok:
                print(f"{example.name}: {command}\n{run.stderr}")
            failed += not ok
    if not commands:
        print(f"{example.name}: no command in its header")
        failed += 1
sys.exit(failed != 0)
