"""The trainings of test/oracle on the GPU: PyTorch's stored losses and gradients. f32 is within 1e-5."""
import shutil

import against_torch
from sections import Verdict

TOLERANCE = {"f32": 1e-5}


def pack(pack, section):
    for file in against_torch.HERE.iterdir():
        if file.suffix in (".json", ".safetensors", ".u16"):
            shutil.copy2(file, pack.place("oracle", "values", file.name))
    for model in against_torch.MODELS[:1] if pack.tiny else against_torch.MODELS:
        for precision in against_torch.PRECISIONS[1:] if pack.tiny else against_torch.PRECISIONS:
            binary = pack.compile(against_torch.HERE / f"{model}-plans.tplan", "oracle", f"{model}-{precision}", plan=precision)
            pack.add(section, f"{model} {precision}", binary=binary, model=model, precision=precision)


def run(row, machine):
    at, model, precision = machine.folder("oracle"), row["model"], row["precision"]
    values = machine.pack / "oracle" / "values"
    machine.run(machine.pack / row["binary"], "--device=cuda", *against_torch.training(model, precision, at, values))
    results = list(against_torch.judge(model, precision, *against_torch.read(at), values, TOLERANCE.get(precision)))
    wrong = [said for holds, said in results if not holds]
    return Verdict(not wrong, "; ".join(wrong or [said for _, said in results if "on one side only" not in said]))
