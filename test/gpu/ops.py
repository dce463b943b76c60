"""Each kernel of the tests of kernels and attention, on the memory that it had there.

The tests run the kernels for GPUs on the CPU and compare them with formulas; RECORD_KERNELS has them write down what
they ran, and play-kernels runs it on the GPU. Most results are equal to the bit; what is not is within MOST by norm.
"""
import json
import os
import subprocess

from pack import BIN
from sections import Failed, Verdict

MOST = {"f64": 1e-10, "f32": 1e-5, "bf16": 1e-2}  # whole numbers and ids are equal
TESTS = {"kernels-test": "Floats/gpu_*:*/gpu", "attention-test": "*/gpu:*Gpus*"}
TINY = {"kernels-test": "Floats/gpu_f32.Row*:Floats/gpu_f32.MapFlat:Floats/gpu_f32.Transpose*"}


def pack(pack, section):
    pack.program("play-kernels")
    folder = pack.subfolder("kernels")
    for test, chosen in (TINY if pack.tiny else TESTS).items():
        done = subprocess.run([BIN / test, f"--gtest_filter={chosen}"], capture_output=True, text=True,
                              env={**os.environ, "RECORD_KERNELS": str(folder)})
        if done.returncode:
            raise Failed(f"{test} fails, so nothing is to be recorded: {done.stdout[-600:]}")
    for file in sorted(folder.iterdir()):
        pack.add(section, file.stem.replace("-", " "), file=f"kernels/{file.name}")


def run(row, machine):
    told = json.loads(machine.run(machine.pack / "bin" / "play-kernels", machine.pack / row["file"]))
    far = told["farthest"]
    beyond = [f"{kind} by {error:.1e}" for kind, error in far.items() if not error <= MOST.get(kind, 0)]
    same = told["elements"] - told["unequal"]
    said = (f"{told['launches']} launches, {same} of {told['elements']} elements equal to the bit, "
            f"the others within {max(far.values()):.1e}")
    return Verdict(not beyond and told["launches"] > 0, said + ("; too far: " + ", ".join(beyond) if beyond else ""))
