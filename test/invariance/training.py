"""What the tables of plans share: a plan is compiled, its memory is as reported, what it leaves is read.

A program is the name of a plan of models.tplan and settings that replace some of its lines.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
import safetensors

TOKENS = ROOT / "test" / "oracle" / "tokens.u16"
TPLANC = ROOT / "build" / "bin" / "tplanc"
STEPS = 10

# Shared objects that the report names otherwise.
OWNERS = {"program": "runtime", "libdnnl": "oneDNN", "libopenblas": "OpenBLAS", "libopenblasp-r0": "OpenBLAS"}

# What a training left: tensors by file and name (element type and bytes); numbers of each step; the metrics of
# each step by name; gradients of the first step, if it was asked for them.
Trained = collections.namedtuple("Trained", "tensors losses norms metrics gradients")
# What is no metric of the model; times differ from run to run.
NUMBERS = {"step", "loss", "grad_norm", "lr", "tokens", "step_seconds", "tokens_per_second"}


class Wrong(Exception):
    """What a row has found."""


def run(command, what, seconds=60, **more):
    """Standard output; Wrong with what it says where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, **more)
    if done.returncode:
        raise Wrong(f"{what} ends with {done.returncode}: {done.stderr.strip()[-1500:]}")
    return done.stdout


def place(folder, name):
    """An empty folder."""
    path = folder / name
    run(["rm", "-rf", path], "rm")
    path.mkdir()
    return path


# A GPU that is not there: libraries that stand in for NVIDIA's, with the PTX that was compiled.
STANDIN = {"TPLAN_CUDA": ROOT / "build/lib/libstandin_cuda.so", "TPLAN_CUBLASLT": ROOT / "build/lib/libstandin_cublasLt.so",
           "TPLAN_CUDNN": ROOT / "build/lib/libstandin_cudnn.so", "TPLAN_NCCL": ROOT / "build/lib/libstandin_nccl.so"}
GPU = ("cuda:sm_90", {name: str(path) for name, path in STANDIN.items()})
CPU = ("cpu", {})


def compiling(plan, settings, target=CPU[0]):
    """The command that compiles a program of models.tplan."""
    command = [TPLANC, HERE / "models.tplan", "--plan", plan, "--target", target]
    for key, value in settings.items():
        command += ["--set", f"{key if '.' in key else f'plan.{key}'}={value}"]
    return command


# In a file with several plans, the one that stands for the example.
PLANS = {"llama3_8b": "llama_8b", "gpt_100b_32gpu": "shared"}


def examples():
    """Each plan of examples/: its name, and the words that choose it."""
    for file in sorted((ROOT / "examples").glob("*.tplan")):
        yield file.stem, [file, *(["--plan", PLANS[file.stem]] if file.stem in PLANS else [])]


# What stands in for a GPU runs PTX, so ptxas, which takes most of a compile, has nothing to do: test/lower/assemble-ptx asks
# it, and host-programs have what it makes. One that does not know the architecture stands before it on PATH.
NO_PTXAS = {**os.environ, "PATH": f"{ROOT / 'test/emit/Inputs'}{os.pathsep}{os.environ['PATH']}", "REFUSES": "1",
            "SAYS": "not defined for option 'gpu-name'"}


def compile_to(binary, command):
    run([*command, "-o", binary], "tplanc", env=NO_PTXAS)


def make(plan, settings, binary, target=CPU[0]):
    """Compiles; the report."""
    command = compiling(plan, settings, target)
    compile_to(binary, command)
    return json.loads(run([*command, "--report=json"], "tplanc --report"))


def obtained(file):
    """By owner, as the report names them, the most bytes held; and the bytes of the runtime's mappings."""
    peaks, mapped = {}, []
    for line in file.read_text().splitlines():
        words = line.split()
        is_mapping = words[0] == "mapping"
        path, size = words[1:3] if is_mapping else words[:2]
        name = pathlib.Path(path).name.split(".")[0]
        owner = OWNERS.get(name, name)
        if not is_mapping:
            peaks[owner] = int(size)
        elif owner == "runtime":
            mapped.append(int(size))
    return peaks, mapped


def pages(size):
    """A size as the system gives it."""
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-size // page) * page


def of_stages(report):
    """A report for each program of the plan."""
    return report.get("pipeline") or [report]


def check_arena(memory, stages=1):
    """Few of all bytes are wasted. Where a rank holds several stages and these are not alike, their slots have unlike sizes and come
    and go in turn, which leaves gaps; with stages of equal layers there are next to none (docs/schedules.md). What must lie apart
    may be more than what is live at any one time."""
    if memory["arena"] > max((1.05 if stages == 1 else 1.2) * memory["live"], 1.05 * memory["least"]):
        raise Wrong(f"the arena has {memory['arena']} bytes for {memory['live']} live ones, {memory['least']} apart")
    if memory["arena"] < memory["least"]:
        raise Wrong(f"the arena has {memory['arena']} bytes, fewer than the report says it must: {memory['least']}")
    for frame in memory["frames"]:
        if frame["bytes"] > 1.05 * frame["live"]:
            raise Wrong(f"the frame of {frame['function']} has {frame['bytes']} bytes for {frame['live']} live ones")


def check_memory(report, folder, threads, ranks=1, logs=0):
    """Each rank of the process has obtained an arena of its report's bytes, and nothing else that is
    mapped; what is held beside them, by who asked, is no more than the report has and the logs of an audit,
    of each rank at most `logs`; few of all bytes are wasted."""
    peaks, mapped = obtained(folder / "memory")
    most = {"other": ranks << 17, "runtime": ranks * logs}  # the C and C++ libraries' own buffers
    arenas, reports = [], [report["memory"] for report in of_stages(report)]
    stages = [len(program.get("holds", [0])) for program in of_stages(report)]
    for memory in reports:
        alike = ranks // len(reports)
        arenas += alike * [pages(memory["arena"])]
        for row in memory["beside"]:
            most[row["owner"]] = most.get(row["owner"], 0) + alike * (row["once"] + threads * row["per_thread"])
    if sorted(mapped) != sorted(arenas):
        raise Wrong(f"ranks have arenas of {sorted(mapped)} bytes, the report has {sorted(arenas)}")
    if peaks["runtime"] > sum(arenas) + most["runtime"]:
        raise Wrong(f"the binary obtained {peaks['runtime']} bytes, the report has {sum(arenas)} + {most['runtime']}")
    for memory, held in zip(reports, stages):
        check_arena(memory, held)
    for owner, peak in peaks.items():
        if owner != "runtime" and peak > most.get(owner, most["other"]):
            raise Wrong(f"{owner} obtained {peak} bytes, the report has {most.get(owner, most['other'])}")


def start(binary, folder, *options, data=f"u16:{TOKENS}", threads=1, launch=(), **more):
    """Trains from seed 1 in `folder`: checkpoints in save, numbers in log.jsonl. Without `data`, on the recipe's."""
    return run([*launch, binary, *(["--data", data] if data else []), "--seed", "1", "--threads", str(threads), "--save", folder / "save",
                "--metrics", folder / "log.jsonl", *options], "the training", **more)


def tensors(folder, step):
    """Tensors of the checkpoint of a step."""
    return {f"{file} {name}": tensor for file in ("model", "optimizer")
            for name, tensor in safetensors.raw(folder / "save" / f"step-{step:08}" / f"{file}.safetensors").items()}


def left(folder, step=STEPS):
    """What a training left on the disk."""
    steps = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    gradients = folder / "gradients.safetensors"
    return Trained(tensors(folder, step), [line["loss"] for line in steps], [line["grad_norm"] for line in steps],
                   [{name: v for name, v in line.items() if name not in NUMBERS} for line in steps],
                   safetensors.raw(gradients) if gradients.exists() else None)


def unequal(one, other):
    """In what two trainings have left different things, by name; empty where in nothing."""
    return ", ".join(field for field in Trained._fields if getattr(one, field) != getattr(other, field))


COUNTING = {"LD_PRELOAD": str(ROOT / "build/lib/libcount-memory.so")}


def train(plan, settings, folder, *options, on=CPU, **more):
    """Compiles and trains as threads of one process that audit their arenas. What is left, the report, and what
    was printed; who obtained memory is in `folder`, for check_memory, where ranks are on CPUs."""
    target, libraries = on
    report = make(plan, settings, folder / "train", target)
    run(["rm", "-rf", folder / "save", folder / "log.jsonl"], "rm")
    counting = {} if libraries else {**COUNTING, "COUNT_MEMORY": str(folder / "memory")}
    environment = {**os.environ, **libraries, **counting}
    patience = {"seconds": 300} if libraries else {}  # what stands in for a GPU is slow
    printed = start(folder / "train", folder, "--audit-memory", *options, env=environment, **patience, **more)
    return left(folder), report, printed


def attempt(check, *arguments, **settings):
    """What is wrong; a check that breaks off has not passed."""
    try:
        return check(*arguments, **settings)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def tell(verdicts):
    """Prints what fails of (name, what is wrong or None) and the last line; the exit code."""
    passed = failed = 0
    for what, wrong in verdicts:
        passed, failed = passed + (wrong is None), failed + (wrong is not None)
        if wrong is not None:
            print(f"FAIL {what}: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
