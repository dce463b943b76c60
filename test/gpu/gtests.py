"""What a program of GoogleTest says, as a verdict."""
import re

from sections import Verdict


def verdict(done):
    """Judges a process that has ended: it counts what passed; one that dies has failed, whatever it counted."""
    failed = re.findall(r"^\[  FAILED  \] (\S*[A-Za-z]\S*?),? ", done.stdout, re.M)
    passed = re.search(r"^\[  PASSED  \] (\d+) test", done.stdout, re.M)
    count = int(passed[1]) if passed else 0
    said = f"{count} tests pass" + (f", {', '.join(sorted(set(failed))[:5])} fail" if failed else "")
    if done.returncode and not failed:
        said += f", ends with {done.returncode}: {done.stderr.strip()[-400:]}"
    return Verdict(done.returncode == 0 and count > 0, said)
