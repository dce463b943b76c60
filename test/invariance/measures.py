"""How far a training over ranks is from the serial one, in measures that survive exact zeros.

A gradient is off by |a - b| over max(|b|, LEAST of the norm of all gradients). A weight or state is by
|a - b| over max(its way from begin to end, LEAST of the way of all of its kind, by root of size): what Adam
makes of roundings in a weight that hardly moves is no difference of plans.
"""
import array
import collections
import math
import re

from training import Wrong, safetensors

# How far a row may be off: gradients and numbers of the first step; losses; gradient norms and
# metrics; weights and states. After each bar stands the most that was measured, with seeds 1 to 3,
# in f64 with 1. Ranks add in another order, so correct results differ by roundings only: the bars
# are five to twenty times that. In a narrow type partial sums are rounded elsewhere over ranks,
# which takes a plan as far as rounding takes the serial one from f32, and some tensors by chance:
# there the bars are three times what was measured. GPUs add in other orders again, and come no
# farther.
# The recipes train at a rate of 1e-3. At 1e-2 ten steps of Adam made of the same roundings, in bf16, losses that were off
# by 8e-3 and tensors by 7e-1, which leaves no room for a bar.
Tolerance = collections.namedtuple("Tolerance", "gradients losses norms tensors")
TOLERANCES = {"f64": Tolerance(2e-14, 2e-14, 1e-13, 2e-12),  # 9.1e-16, 3.1e-15, 2.1e-14, 1.9e-13
              "f32": Tolerance(5e-6, 1e-6, 4e-6, 4e-4),   # 4.6e-7, 1.1e-7, 3.7e-7, 4.6e-5
              "tf32": Tolerance(2e-3, 3e-5, 3e-4, 1e-1),  # 6.8e-4, 9.1e-6, 8.6e-5, 2.9e-2: from the serial plan in f32
              "bf16": Tolerance(4e-2, 7e-4, 6e-3, 3e-1),  # 1.2e-2, 2.1e-4, 1.9e-3, 9.2e-2
              "f16": Tolerance(4e-3, 1e-4, 2e-3, 2e-1),   # 1.2e-3, 3.1e-5, 6.1e-4, 7.0e-2
              # Where ranks add in another order a code may be the next one, 6 or 12 % away.
              "fp8": Tolerance(2e-1, 7e-4, 1.3e-2, 4e-1)}  # 7.1e-2, 1.0e-4, 4.3e-3, 1.3e-1
# Numbers below this share of the norm of all gradients, or of the way of all weights, are noise.
LEAST = 1e-3

# Gradients that are zero by algebra: they consist of roundings, which Adam makes as large as any
# other.
ZERO = [(r"gpt2", r"blocks\.\d+\.attn\.k\.bias",
         "a bias of the keys adds one number to all scores of a query, which softmax takes away again")]

def off(found, wanted):
    """Relative; what is no number is infinite."""
    apart = max((abs(a - b) / abs(b) if b else float(a != b) for a, b in zip(found, wanted)), default=0.0)
    return apart if math.isfinite(apart) and len(found) == len(wanted) else math.inf


def group(name):
    """Tensors of one meaning are measured together: weights, states of the model, each state of the optimizer."""
    file, path = name.split()
    return file if file == "model" else path.rsplit(".", 1)[1]


def apart(found, begin, end, weights):
    """How far each tensor is off, in its own way from begin to end, or LEAST of all ways together."""
    values = {name: safetensors.values(tensor) for name, tensor in end.items()}
    ways, totals = {}, {}
    for name, last in values.items():
        kind = group(name) if name in weights or group(name) != "model" else "state"
        first = safetensors.values(begin[name]) if kind == "model" else array.array("d", bytes(8 * len(last)))
        ways[name] = kind, safetensors.norm([a - b for a, b in zip(last, first)]), len(last)
        square, size = totals.get(kind, (0.0, 0))
        totals[kind] = square + ways[name][1] ** 2, size + len(last)
    out = {}
    for name, (kind, way, size) in ways.items():
        square, all_sizes = totals[kind]
        least = LEAST * math.sqrt(square * size / all_sizes)
        difference = safetensors.norm([a - b for a, b in zip(safetensors.values(found[name]), values[name])])
        out[name] = relative(difference, max(way, least))
    return out


def relative(difference, scale):
    ratio = difference / scale if scale else (0.0 if difference == 0 else math.inf)
    return ratio if math.isfinite(ratio) else math.inf


def gradients_apart(found, wanted):
    values = {name: safetensors.values(tensor) for name, tensor in wanted.items()}
    least = LEAST * math.sqrt(sum(safetensors.norm(v) ** 2 for v in values.values()))
    return {name: relative(safetensors.norm([a - b for a, b in zip(safetensors.values(found[name]), v)]),
                           max(safetensors.norm(v), least)) for name, v in values.items()}


def is_zero(program, path):
    return any(re.match(model, program) and re.match(weight, path) for model, weight, _ in ZERO)


def errors(program, found, reference):
    """How far each number or tensor is off, by field of Tolerance; of gradients only where there are some."""
    begin, wanted = reference.begin, reference.end
    for one, other in ((found.tensors, wanted.tensors), (found.gradients or {}, wanted.gradients if found.gradients else {})):
        if one.keys() != other.keys():
            raise Wrong(f"tensors of one only: {sorted(one.keys() ^ other.keys())[:5]}")
    if len(found.losses) != len(wanted.losses) or [m.keys() for m in found.metrics] != [m.keys() for m in wanted.metrics]:
        raise Wrong(f"{len(found.losses)} steps with metrics {found.metrics[:1]}, not {len(wanted.losses)} with {wanted.metrics[:1]}")
    norms = {"gradient norms": (found.norms, wanted.norms)}
    for name in wanted.metrics[0]:
        norms[name] = [m[name] for m in found.metrics], [m[name] for m in wanted.metrics]
    losses = {"losses": (found.losses, wanted.losses)}
    gradients = {}
    if found.gradients:
        gradients = {f"{name} of step 1": off(one[:1], other[:1]) for name, (one, other) in (losses | norms).items()}
        gradients |= gradients_apart(found.gradients, wanted.gradients)
    weights = {f"model {name.removesuffix('.grad')}" for name in wanted.gradients}
    left = {name: far for name, far in apart(found.tensors, begin, wanted.tensors, weights).items()
            if not is_zero(program, name.split()[1])}
    losses, norms = ({name: off(*pair) for name, pair in part.items()} for part in (losses, norms))
    return Tolerance(gradients, losses, norms, left)


def tolerance_in(precision):
    """The widest of the precisions that a plan names, for all or for parts."""
    named = [TOLERANCES[word] for word in re.findall(r"\w+", precision) if word in TOLERANCES]
    return Tolerance(*map(max, zip(*named)))


def judge(program, precision, found, reference, say=lambda far: None):
    """None where a training is right; else what is not. `say` gets the largest error of each part."""
    far = errors(program, found, reference)
    say([max(((e, n) for n, e in part.items()), default=(0.0, "nothing")) for part in far])
    for part, tolerance in zip(far, tolerance_in(precision)):
        wrong = sorted(((e, n) for n, e in part.items() if not e <= tolerance), reverse=True)
        if wrong:
            return f"{len(wrong)} of {len(part)} differ by more than {tolerance:.0e}, most " + ", ".join(f"{n} by {e:.1e}" for e, n in wrong[:3])
    return None
