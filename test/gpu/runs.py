"""Bits on the GPU: a training that is run again, and one that stops halfway and goes on, leave what one run leaves.

The first run measures algorithms of GEMMs and writes them to a file, from which the others begin; what goes on has
them from its checkpoint alone.
"""
import against_torch
from sections import Verdict

STEPS, FEW = 20, 6


def pack(pack, section):
    for model in against_torch.MODELS[:1] if pack.tiny else against_torch.MODELS:
        for precision in ("f32", "bf16", "f16")[:1 if pack.tiny else None]:
            binary = pack.compile(against_torch.HERE / f"{model}-plans.tplan", "runs", f"{model}-{precision}", plan=precision)
            pack.add(section, f"{model} {precision}", binary=binary)


def train(row, machine, name, *parts):
    """What the last of several runs leaves: files of the checkpoint, and the losses of all."""
    at, chosen = machine.folder(name), ["--gemm-algorithms", machine.scratch / f"{row['name']}.algorithms"]
    for steps in parts:
        machine.run(machine.pack / row["binary"], "--device=cuda", "--data", f"u16:{against_torch.HERE / 'tokens.u16'}",
                    "--seed", "1", "--save", at / "save", "--steps", steps, "--metrics", at / "log.jsonl",
                    *(chosen if steps == parts[0] else ["--resume"]))
    saved = at / "save" / f"step-{parts[-1]:08}"
    files = {path.name: path.read_bytes() for path in sorted(saved.glob("*.safetensors"))}
    losses = [line.split('"lr"')[0] for line in (at / "log.jsonl").read_text().splitlines()]
    return files, losses


def run(row, machine):
    steps = FEW if machine.tiny else STEPS
    (machine.scratch / f"{row['name']}.algorithms").unlink(missing_ok=True)
    once = train(row, machine, "once", steps)
    again = train(row, machine, "again", steps)
    resumed = train(row, machine, "resumed", steps // 2, steps)
    files, losses = once
    if not files or len(losses) != steps:
        return Verdict(False, f"a run leaves the files {sorted(files)} and {len(losses)} losses")
    others = {"a second run": again, f"{steps // 2} steps and as many": resumed}
    wrong = [f"{what} leaves other {part}" for what, other in others.items()
             for part, a, b in (("weights or states", files, other[0]), ("losses", losses, other[1])) if a != b]
    size = sum(map(len, files.values()))
    return Verdict(not wrong, "; ".join(wrong) or f"{size} bytes and {steps} losses equal to the bit, twice and resumed")
