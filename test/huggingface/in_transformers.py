"""Whether transformers reads what --export wrote, and predicts what --dump-logits says of tokens.u16.

Run by hand, never by a test:  python in_transformers.py FOLDER LOGITS.safetensors  (needs torch, transformers).
"""
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent


def main(folder, logits):
    model, about = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    row = np.frombuffer((HERE / "tokens.u16").read_bytes(), "<u2").astype(np.int64)
    with torch.no_grad():
        theirs = model.eval()(torch.tensor(row)[None]).logits[0]
    apart = (theirs - load_file(logits)["logits"]).abs().max().item()
    print(f"{type(model).__name__}: logits differ by {apart:.2g} of {theirs.abs().max().item():.2g}")
    left = {key: names for key, names in about.items() if names}
    print(f"keys that are missing or too many: {left or 'none'}")
    return bool(left) or apart > 1e-4


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
