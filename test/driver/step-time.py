"""Holds the step times that tplanc predicts against those of docs/step-time.md, which are worked out here from the model's
sizes alone: nothing of the compiler but the report is read. Each figure may be 4 % off, because a reader leaves out what is
small: norms, the optimizer, tiles at the edges.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def report(file, plan, *how):
    out = subprocess.run(["tplanc", ROOT / file, "--plan", plan, *how, "--report=json"], check=True, capture_output=True)
    return json.loads(out.stdout)


def check(what, by_hand, reported, tolerance=0.04):
    global failed
    off = by_hand / reported - 1
    failed += not abs(off) <= tolerance
    print(f"{what}: by hand {by_hand:.4g}, reported {reported:.4g}, {off:+.1%}")


def communication(got, axes):
    """Seconds of the channel of a group, whether they are waited for or hidden."""
    return sum(got["predicted"][part].get(axes, 0) for part in ("communication", "hidden", "beside_waits"))


def check_collectives(what, got):
    """The seconds of all rows of collectives are those of the axes, on the mean of pipeline ranks."""
    programs, predicted = got.get("pipeline") or [got], got["predicted"]
    mean = lambda field: sum(row[field] for one in programs for row in one["collectives"] if field in row) / len(programs)
    waited = sum(predicted["communication"].values())
    others = sum(predicted["beside_waits"].values())
    check(f"{what}: seconds of collectives", waited + others + sum(predicted["hidden"].values()), mean("seconds"), 1e-6)
    check(f"{what}: seconds that nothing hides", waited + others, mean("waited"), 1e-6)


def check_played(what, file, plan, got):
    """bench/overlap-bound reads and prices the listing of a plan by itself, and plays it."""
    out = subprocess.run([ROOT / "bench/overlap-bound", ROOT / file, "--plan", plan], check=True, capture_output=True, text=True)
    check(f"{what}: seconds of a step, played again", float(re.search(r"as it is ([\d.]+) s", out.stdout)[1]), got["predicted"]["seconds"], 0.01)


def check_timeline(what, plan, got):
    """The trace of a plan has as many seconds of collectives over dp as the report, and a stream does one thing after the other."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "step.trace.json"
        subprocess.run(["tplanc", ROOT / "examples/gpt_100b_32gpu.tplan", "--plan", plan, "--emit=timeline", "-o", trace], check=True)
        events = json.loads(trace.read_text())["traceEvents"]
    names = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    slices = {name: [(each["ts"], each["ts"] + each["dur"]) for each in events if each["ph"] == "X" and each["tid"] == thread] for thread, name in names.items()}
    streams, tasks = ([name for name in names.values() if (", " in name) == beside] for beside in (True, False))
    seconds = lambda name: sum(end - begin for begin, end in slices[name]) / 1e6
    collectives, messages = [name for name in streams if name.endswith(", dp")], [name for name in streams if ", pp to " in name]
    check(f"{what}: ranks of the timeline that have streams", len(tasks), len(collectives), 0)
    check(f"{what}: seconds over dp in the timeline", sum(map(seconds, collectives)) / len(tasks), communication(got, "dp"), 1e-4)
    chunks = got["pipeline"][0]["stages"] // len(tasks)
    check(f"{what}: messages in the timeline", 2 * chunks * (len(tasks) - 1) * got["pipeline"][0]["microbatches"], sum(len(slices[name]) for name in messages), 0)
    check(f"{what}: the end of the timeline", max(slices[name][-1][1] for name in tasks) / 1e6, got["predicted"]["tasks"], 1e-3)
    check(f"{what}: what a stream does at once", 1, 1 + sum(a[1] > b[0] + 1e-3 for name in streams for a, b in zip(slices[name], slices[name][1:])), 0)


def layer(D, H, G, K, F):
    """Weights of a block, of all its linears and of `down` alone."""
    return 2 * D * H * K + 2 * D * G * K + 3 * D * F, D * F


def ring(bytes_, ranks):
    """Bytes that a rank sends in an all-gather to, or a reduce-scatter of, so many bytes."""
    return bytes_ * (ranks - 1) / ranks


# Llama 3 405B on 64 B300: dp = 8, tp = 8. A rank does an eighth of each layer for an eighth of the sequences.
got = report("examples/llama3_405b_64.tplan", "llama_405b_64")
check_collectives("405B", got)
L, D, V, S = 126, 16384, 128256, 8192
weights, down = layer(D, 128, 8, 128, 53248)
tokens, ranks, dp, tp = 2048 * S, 64, 8, 8
# Forward, forward again except for `down`, whose result no gradient reads, and twice that much backward; the head without
# the second one.
flops = (L * (8 * weights - 2 * down) + 6 * D * V) * tokens / ranks
gemm = next(row["flops"] for row in got["categories"] if row["name"] == "gemm")
check("405B: FLOPs of GEMMs of a rank", flops, gemm, 0.01)
# Not those of parts of their rows, which fill the last turn of the units less.
whole = report("examples/llama3_405b_64.tplan", "llama_405b_64", "--set", "plan.overlap=none")
check("405B: seconds of GEMMs", flops / (2250e12 * 0.79), whole["predicted"]["work"]["gemm"])
# Sequence parallelism: a layer gathers its input twice and scatters its result twice, forward and again except for the last
# scatter; backward it gathers two gradients and scatters two. What is gathered is bf16, what is summed f32.
microbatches = 2048 // dp
gathers, scatters = 6, 2 + 2 + 1
residual = S * D
sent = L * microbatches * (gathers * ring(2 * residual, tp) + scatters * ring(4 * residual, tp))
latency = L * microbatches * (gathers + scatters) * (tp - 1) * 3.3e-6
check("405B: seconds over tp", sent / (900e9 * 0.82) + latency, communication(got, "tp"))
# ZeRO 2 sums the gradients of each microbatch in f32 into the rank's eighth.
sent = microbatches * ring(4 * (L * weights + D * V) / tp, dp)
check("405B: seconds over dp", sent / (100e9 * 0.85), communication(got, "dp"))
# Model FLOPs: three times the forward. A query sees half of the keys, for which it multiplies twice.
attention = 2 * 2 * S / 2 * 128 * 128
check("405B: model FLOPs", 3 * (2 * (L * weights + D * V) + L * attention) * tokens, got["predicted"]["model_flops"], 0.01)

# 70 B with ZeRO 3 on 256 GPUs, 32 nodes of 8, two microbatches: a layer's weights are gathered forward and backward in bf16, its
# gradients summed in f32. In two hops a rank sends an eighth of that to other nodes, and all of it inside its node.
got = report("bench/overlap.tplan", "llama_70b")
L, D, V = 80, 8192, 128256
parameters = L * (layer(D, 64, 8, 128, 28672)[0] + 2 * D) + 2 * D * V + D
moved = 2 * (2 + 2 + 4) * parameters
sent = lambda axis: sum(row["calls"] * row["bytes"] for row in got["collectives"] if row["in"] == "step" and row["axes"] == axis)
check("70B: bytes between nodes", ring(moved, 32) / 8, sent("dp.0"), 0.02)
check("70B: bytes inside nodes", ring(moved, 8), sent("dp.1"), 0.02)

# 405 B in a pipeline: stages gather what updates have computed while they wait for their first messages.
check_played("405 B, 1f1b", "bench/overlap.tplan", "llama_405b", report("bench/overlap.tplan", "llama_405b"))

# 100 B on 32 GPUs: dp = 8, pp = 4, and a microbatch is a sequence of 1,024 tokens.
L, D, V, S, dp, pp = 100, 12288, 50304, 1024, 8, 4
weights, down = layer(D, 96, 8, 128, 18432)
rate, wire = 989e12 * 0.8, 25e9 * 0.85
got = report("examples/gpt_100b_32gpu.tplan", "shared")
# A stage has 25 layers. ZeRO 3 gathers their weights in bf16 forward and again backward, where it sums gradients in f32.
layers = L // pp
gather, scatter = (layers * ring(weights * size, dp) / wire for size in (2, 4))
forward = gather + layers * 2 * weights * S / rate
backward = gather + scatter + layers * (6 * weights - 2 * down) * S / rate
# The last stage has the head: forward 2, backward 4 a weight.
m = 32 // dp
plain = report("examples/gpt_100b_32gpu.tplan", "shared", "--set", "plan.overlap=none")  # else stages gather while they wait
check("100 B, 1f1b: seconds of tasks", (m + pp - 1) * (forward + backward), plain["predicted"]["tasks"])
check_played("100 B, 1f1b", "examples/gpt_100b_32gpu.tplan", "shared", got)
check_timeline("100 B, 1f1b", "shared", got)
got = report("examples/gpt_100b_32gpu.tplan", "both_ways")
check_collectives("100 B, dualpipe_v", got)
check_played("100 B, dualpipe_v", "examples/gpt_100b_32gpu.tplan", "both_ways", got)
check_timeline("100 B, dualpipe_v", "both_ways", got)
# Eight microbatches keep all ranks busy except for a little: what a rank does is eight times all of its layers.
m = 64 // dp
check("100 B, dualpipe_v: seconds of a rank", m * (forward + backward),
      sum(sum(got["predicted"][part].values()) for part in ("work", "communication", "hidden")), 0.06)
sys.exit(failed != 0)
