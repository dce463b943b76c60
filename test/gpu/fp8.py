"""The first step of a Llama and a GPT-2 with GEMMs in FP8 on the GPU, against what a CPU has recorded: scales by each
recipe's formula from their maxima, and these near the CPU's; scales and codes of weights equal to the bit."""
import pathlib
import re
import shutil
import tempfile

from precision import audits
from script import load_script
from sections import ROOT, Verdict

scales = load_script(ROOT / "test" / "precision" / "scales")
ROWS = [(model, "another machine", recipe, {"microbatch": "1 sequence"})
        for model, recipe in (("llama", "blockwise"), ("gpt2", "rowwise"), ("llama", "current"), ("gpt2", scales.DELAYED))]


def name(row):
    """`llama-current`, for files."""
    return re.sub(r"\W+", "-", f"{row[0]}-{row[2]}").strip("-")


def pack(pack, section):
    plans = pack.place("fp8", "plans.tplan")
    text = scales.PLANS.format(models=ROOT / "models", data=scales.DATA / "tokens.u16")
    plans.write_text(text.replace("L = 2", "L = 1").replace("S = 384", "S = 128") if pack.tiny else text)
    shutil.copy2(scales.DATA / "tokens.u16", pack.place("fp8", "tokens.u16"))
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for row in ROWS[:1] if pack.tiny else ROWS:
            model, _, recipe, settings = row
            weights = pack.place("fp8", f"{model}.safetensors")
            if not weights.exists():
                scales.write(scales.with_outliers(scales.initial(plans, model, scratch)), weights)
            scales.trained(row, weights, plans, scratch)
            shutil.copy2(scratch / "scales.0", pack.place("fp8", f"cpu-{name(row)}.0"))
            precision = f"plan.precision=f32, fp8({recipe}) for blocks.*"
            binary = pack.compile(plans, "fp8", name(row), plan=model, options=["--audit-scales"],
                                  settings=[precision, *(f"plan.{key}={value}" for key, value in settings.items())])
            pack.add(section, f"{model}, {recipe}", row=row, binary=binary)


def run(row, machine):
    at, (model, *_, recipe, _) = machine.folder("fp8"), row["row"]
    packed = machine.pack / "fp8"
    machine.run(machine.pack / row["binary"], "--device=cuda", "--seed", "1", "--steps", "1", "--load", packed / f"{model}.safetensors",
                "--data", f"u16:{packed / 'tokens.u16'}", "--audit-scales", at / "scales")
    alike, of = scales.judge(row["row"], audits.read(at / "scales"), audits.read(packed / f"cpu-{name(row['row'])}"))
    return Verdict(True, f"{alike} of {of} records are those of a CPU, the others near")
