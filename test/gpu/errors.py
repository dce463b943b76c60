"""What a program for a GPU says where something is missing or fails: one line, and exit code 1 or 2."""
import pathlib
import re
import tempfile

import against_torch
from sections import ROOT, Verdict

PLANS = ROOT / "test" / "gpu" / "errors.tplan"
NOTHING = "/nonexistent/library.so"
# Program -> plan, settings. Huge: two matrices of 2^40 elements.
PROGRAMS = {"small": ("small", ()), "huge": ("small", ("model.D=1048576", "model.F=1048576")), "attention": ("attention", ())}


def at(call):
    """The place of a call in the plan, as an error begins with it."""
    (line,) = [number for number, text in enumerate(PLANS.read_text().splitlines(), 1) if f"= {call}" in text]
    return rf"rank 0: (\S*/)?errors\.tplan:{line}: "


FAULT = (r"the NVIDIA driver refuses cu\w+: an illegal memory access was encountered \(CUDA_ERROR_ILLEGAL_ADDRESS\); "
         "a kernel has failed, whose line --synchronous names$")
# Launches of a step of `small`, of which the lookup in the table is the fourth; those of
# `attention`, whose fourth counts its terms.
LAUNCHES, LOOKUP, COUNT = 22, 3, 5
DAMAGED = "damaged kernels"
# Row -> program, architecture, options, variables, what is said.
ROWS = {
    "no driver": ("small", "sm_90", [], {"TPLAN_CUDA": NOTHING}, "there is no NVIDIA driver on this machine"),
    "no GPU": ("small", "sm_90", [], {"CUDA_VISIBLE_DEVICES": "", "STANDIN_DEVICES": "0"},
               "there is an NVIDIA driver but no GPU on this machine"),
    "no cuBLASLt": ("small", "sm_90", [], {"TPLAN_CUBLASLT": NOTHING}, "cannot load cuBLASLt as TPLAN_CUBLASLT names it"),
    "no memory": ("huge", "sm_90", [], {}, r"the plan 'small' needs \d+ bytes of the GPU \(.*\), which has \d+ free of \d+"),
    "no program for the CPU": ("small", "sm_90", ["--device=cpu"], {}, "this binary is compiled for cuda:sm_90 alone"),
    "no cuDNN": ("attention", "sm_90", [], {"TPLAN_CUDNN": NOTHING},
                 at("attention") + "cannot load cuDNN as TPLAN_CUDNN names it"),
    "too old a cuDNN": ("attention", "sm_90", [], {"STANDIN_CUDNN_VERSION": "90100"},
                        at("attention") + r"cuDNN 9\.10\.2 is the oldest that is taken, found 9\.1\.0"),
    "a kernel fails": ("small", "sm_90", [], {"STANDIN_FAULT": LOOKUP}, "rank 0: " + FAULT),
    "a kernel of a graph fails": ("small", "sm_90", [], {"STANDIN_FAULT": LAUNCHES + LOOKUP}, "rank 0: " + FAULT),
    # Whichever call finds it, which is chance; one of a library is among them.
    "a kernel fails while others are issued": ("attention", "sm_90", [], {"STANDIN_FAULT": COUNT, "STANDIN_ORDER": "eager"},
                                               r"rank 0: (\S+\.tplan:\d+: )?" + FAULT),
    "a kernel fails that is waited for": ("small", "sm_90", ["--synchronous"], {"STANDIN_FAULT": LOOKUP}, at("embed") + FAULT),
    "a kernel of the second step fails that is waited for": (
        "small", "sm_90", ["--synchronous"], {"STANDIN_FAULT": LAUNCHES + LOOKUP}, at("embed") + FAULT),
    DAMAGED: ("small", "sm_90", [], {}, "the kernels of this program are damaged: zstd says 'Unknown frame descriptor'"),
    "too old a GPU": ("small", "sm_100", [], {},
                      r"the plan 'small' is compiled for sm_100, and this GPU \(.*\) is an sm_\d+: compile it with"),
}
NEW_ENOUGH = 100  # an architecture that runs what is compiled for sm_100


def pack(pack, section):
    for program, architecture in dict.fromkeys((program, architecture) for program, architecture, *_ in ROWS.values()):
        plan, settings = PROGRAMS[program]
        pack.compile(PLANS, "errors", f"{program}-{architecture}", plan=plan, settings=settings, architecture=architecture)
    for name in ROWS:
        pack.add(section, name)


def damage(program, folder):
    """A copy in which no frame of zstd's begins as one should."""
    copy = pathlib.Path(folder) / "damaged"
    copy.write_bytes(program.read_bytes().replace(b"\x28\xb5\x2f\xfd", bytes(4)))
    copy.chmod(0o755)
    return copy


def run(row, machine):
    program, architecture, options, variables, wanted = ROWS[row["name"]]
    if not machine.is_stand_in and variables and all(name.startswith("STANDIN_") for name in variables):
        return Verdict(None, "left out: only what stands in for a GPU fails when it is told to")
    binary = machine.pack / "errors" / f"{program}-{architecture}"
    with tempfile.TemporaryDirectory() as folder:
        if row["name"] == DAMAGED:
            binary = damage(binary, folder)
        done = machine.attempt(binary, *options, "--steps", 2, "--data", f"u16:{against_torch.HERE / 'tokens.u16'}", **variables)
    said = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
    if architecture == "sm_100" and machine.driver.architecture() >= NEW_ENOUGH:
        return Verdict(done.returncode == 0, "; ".join(said) or "this GPU is new enough, and runs it")
    holds = done.returncode in (1, 2) and len(said) == 1 and re.match(wanted, said[0])
    return Verdict(bool(holds), said[0] if holds else f"ends with {done.returncode}, not with '{wanted}': {done.stderr}")
