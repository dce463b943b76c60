"""The conformance suite of the transports: ranks that share the GPU as threads, and one rank as a process over NCCL."""
import subprocess

import gtests
import jobs
from pack import ARCHITECTURE, BIN
from sections import ROOT, Failed

SHARED = (2, 4, 8)
SUMS = ROOT / "test" / "runtime" / "device" / "sums.mlir"


def pack(pack, section):
    pack.program("device-tests")
    done = subprocess.run([BIN / "tplan-translate", f"--kernels-to-ptx={ARCHITECTURE}", SUMS, "-o", pack.place("collectives", "sums.ptx")],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"no kernels of sums: {done.stderr}")
    if section == "nccl":
        return pack.add(section, "one rank", tests="*", alone=True)
    for ranks in SHARED[:1] if pack.tiny else SHARED:
        pack.add(section, f"{ranks} ranks", tests=f"Worlds/*OneGpu{ranks}", alone=False)


def run(row, machine):
    launched = {**jobs.variables(0, 1, jobs.free_port()), "DEVICE_ALONE": 1} if row["alone"] else {}
    done = machine.attempt(machine.pack / "bin" / "device-tests", f"--gtest_filter={row['tests']}",
                           DEVICE_SUMS=machine.pack / "collectives" / "sums.ptx", **launched)
    return gtests.verdict(done)
