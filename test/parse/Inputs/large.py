"""Writes sources that exceed a limit: large.py KIND FOLDER."""
import pathlib
import sys

kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
recipe = "recipe r { model m data S = 4 batch 2 sequences length 1 steps lr 1e-3 }\n"
if kind == "operations":
    chain = " + ".join(["x"] * 150)
    kinds = ", ".join(f"f[{n}]" for n in range(1, 1001))
    text = (recipe + f"layer f[N](x: [.., D]) -> [.., D] {{ return {chain} }}\n"
            "model m(D = 4) {\n  input tokens : i32[B, S]\n  table embed : S -> D\n"
            f"  fs : {kinds}\n  x = embed(tokens)\n  for f in fs {{ x = f(x) }}\n"
            "  loss main = sum(x over B, S, D)\n}\n")
elif kind == "bytes":
    text = "// " + "x" * (4 << 20) + "\n"
elif kind == "imports":
    for n in range(70):
        (folder / f"f{n}.tplan").write_text(f'import "f{n + 1}.tplan"\n')
    text = 'import "f0.tplan"\n'
(folder / "main.tplan").write_text(text)
