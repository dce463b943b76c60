"""How far a training is from PyTorch's stored numbers (make_oracle.py), on any device.

Losses of 20 steps: f64 within 1e-9, f32 within 1e-5. Gradients of the first step, per tensor:
|a - b| <= tol * max(|b|, 1e-3 * norm of all gradients), tol 1e-10 (f64), 1e-4 (f32) or what is asked for. Gradients that
are zero by algebra are roundings, and stay at these.

In bf16 both sides begin from weights that are bf16 numbers, and b is f64. Per tensor at most twice as far as
PyTorch in bf16 is from f64, and within 1e-2 where PyTorch is; all tensors together no farther than PyTorch. Losses: at
most 1e-2 nats, or twice as far as PyTorch's farthest.
"""
import array
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from safetensors import distance, gradients, norm

MODELS = ("llama", "gpt2", "mlp")
PRECISIONS = ("f64", "f32", "bf16")
LOSS, GRADIENT = {"f64": 1e-9, "f32": 1e-5}, {"f64": 1e-10, "f32": 1e-4}
ENOUGH = 1e-2  # in bf16


def narrow(value):
    """To the nearest bf16 number, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def weights_of(model, precision, folder, values):
    """The weights that a training begins from, as a file for --load."""
    stored = values / f"{model}.weights.safetensors"
    if precision != "bf16":
        return stored
    data = stored.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    numbers = array.array("f", data[8 + length:])
    rounded = folder / f"{model}.rounded.safetensors"
    rounded.write_bytes(data[:8 + length] + array.array("f", map(narrow, numbers)).tobytes())
    return rounded


def training(model, precision, folder, values=HERE):
    """Options of a training; `read` takes what it leaves. `values`: where the stored numbers are."""
    return ["--data", f"u16:{values / 'tokens.u16'}", "--seed", "1", "--metrics", folder / "log.jsonl", "--load",
            weights_of(model, precision, folder, values), "--dump-gradients", folder / "gradients.safetensors"]


def read(folder):
    """Losses of the steps, and gradients of the first."""
    losses = [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]
    return losses, gradients(folder / "gradients.safetensors")


def judge(model, precision, losses, found, values=HERE, tolerance=None):
    """Yields a line for each thing compared: whether it holds, and what it says."""
    oracle = json.loads((values / f"{model}.json").read_text())
    bf16 = oracle["bf16"]
    wanted = bf16["loss"] if precision == "bf16" else oracle["f64"]["loss"]
    most = LOSS.get(precision) or max(ENOUGH, 2 * far(bf16["torch"]["loss"], wanted))
    apart = far(losses, wanted)
    yield apart <= most, f"{len(losses)} losses differ by at most {apart:.1e}, of {most:.1e}"

    stored = gradients(values / f"{model}.{'bf16' if precision == 'bf16' else 'gradients'}.safetensors")
    only = sorted(found.keys() ^ stored.keys())
    yield not only, f"gradients on one side only: {only}"
    if only:
        return
    least = 1e-3 * norm([norm(g) for g in stored.values()])
    errors = {name: distance(found[name], stored[name], least) for name in found.keys() & stored.keys()}
    if precision != "bf16":
        zero = oracle["zero_gradients"]
        for those, most in ((errors.keys() - zero, tolerance or GRADIENT[precision]), (zero, GRADIENT[precision])):
            name = max(those, key=errors.get, default=None)
            if name:
                yield errors[name] <= most, f"gradients differ by at most {errors[name]:.1e} ({name}), of {most:.1e}"
        return
    torch, norms = bf16["torch"], {name: max(norm(g), least) for name, g in stored.items()}
    beyond = {name: error / bar(torch["far"][name]) for name, error in errors.items()}
    name = max(beyond, key=beyond.get, default="none")
    yield beyond.get(name, 0) <= 1, (f"gradients differ by at most {max(errors.values(), default=0):.1e}, PyTorch's by "
                                     f"{max(torch['far'].values()):.1e}; nearest to its bar is {name}, at "
                                     f"{beyond.get(name, 0):.2f} of it")
    together = norm([errors[name] * norms[name] for name in errors]) / norm([norm(g) for g in stored.values()])
    yield together <= torch["together"], f"all together differ by {together:.1e}, PyTorch's by {torch['together']:.1e}"


def bar(torch):
    """How far a gradient may be in bf16, where PyTorch's is so far."""
    return min(2 * torch, ENOUGH) if torch <= ENOUGH else 2 * torch


def far(a, b):
    """The largest difference of two lists; infinite where one is longer, or holds what is no number."""
    apart = [abs(x - y) for x, y in zip(a, b)]
    return max(apart) if len(a) == len(b) and all(d < float("inf") for d in apart) else float("inf")
