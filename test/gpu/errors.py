"""What a program for a GPU says where something is missing: one line, and exit code 1 or 2."""
import re

import against_torch
from sections import ROOT, Verdict

PLANS = ROOT / "test" / "gpu" / "errors.tplan"
NOTHING = "/nonexistent/library.so"
# Two matrices of 2^40 elements.
SETTINGS = {"small": (), "huge": ("model.D=1048576", "model.F=1048576")}
# Row -> sizes, architecture, options, variables, what is said.
ROWS = {
    "no driver": ("small", "sm_90", [], {"TPLAN_CUDA": NOTHING}, "there is no NVIDIA driver on this machine"),
    "no GPU": ("small", "sm_90", [], {"CUDA_VISIBLE_DEVICES": "", "STANDIN_DEVICES": "0"},
               "there is an NVIDIA driver but no GPU on this machine"),
    "no cuBLASLt": ("small", "sm_90", [], {"TPLAN_CUBLASLT": NOTHING}, "cannot load cuBLASLt as TPLAN_CUBLASLT names it"),
    "no memory": ("huge", "sm_90", [], {}, r"the plan 'small' needs \d+ bytes of the GPU \(.*\), which has \d+ free of \d+"),
    "no program for the CPU": ("small", "sm_90", ["--device=cpu"], {}, "this binary is compiled for cuda:sm_90 alone"),
    "too old a GPU": ("small", "sm_100", [], {},
                      r"the plan 'small' is compiled for sm_100, and this GPU \(.*\) is an sm_\d+: compile it with"),
}
NEW_ENOUGH = 100  # an architecture that runs what is compiled for sm_100


def pack(pack, section):
    for plan, architecture in dict.fromkeys((plan, architecture) for plan, architecture, *_ in ROWS.values()):
        pack.compile(PLANS, "errors", f"{plan}-{architecture}", settings=SETTINGS[plan], architecture=architecture)
    for name in ROWS:
        pack.add(section, name)


def run(row, machine):
    plan, architecture, options, variables, wanted = ROWS[row["name"]]
    done = machine.attempt(machine.pack / "errors" / f"{plan}-{architecture}", *options, "--steps", 1,
                           "--data", f"u16:{against_torch.HERE / 'tokens.u16'}", **variables)
    said = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
    if architecture == "sm_100" and machine.driver.architecture() >= NEW_ENOUGH:
        return Verdict(done.returncode == 0, "; ".join(said) or "this GPU is new enough, and runs it")
    holds = done.returncode in (1, 2) and len(said) == 1 and re.match(wanted, said[0])
    return Verdict(bool(holds), said[0] if holds else f"ends with {done.returncode}, not with '{wanted}': {done.stderr}")
