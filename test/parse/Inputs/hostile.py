"""Writes sources that no person writes to the folder given. Usage: hostile.py FOLDER"""
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
example = (pathlib.Path(__file__).resolve().parents[3] / "examples" / "mlp.tplan").read_bytes()
blanks = " " * 500_000

sources = {
    "number": "recipe r { lr 0." + "1" * 400_000 + " }",
    "word-in-model": "model m(V = " + "1a" * 200_000 + ") { }",
    "small": "recipe r { lr 1e-999 }",
    "name": "model " + "a" * 400_000 + " { }",
    "string": 'import "' + "a" * 400_000 + '"',
    "brackets": "model m(V = " + "(" * 1_000_000,
    "minus": "model m(V = " + "-" * 1_000_000 + "1) { }",
    "words": "recipe r { stages 1" + ",1" * 1_000_000 + " }",
    "long-line": "recipe r { batch 2 sequences" + blanks[17:] + "batch 3 sequences" + blanks + "}",
    "wide": 'import "' + "\u307b" * 300 + '" @',
    "nul": "// before\0after",
    "escape": 'import "\033[2J"',
    "byte": b"// \xff",
    "utf-16": "recipe r { }".encode("utf-16"),
    "returns": "// one\rmodel m { }\r",
    "letter": "model m\u00e4 { }",
    "bidi": example + "// \u202e2 = L".encode(),
    "mark": b"\xef\xbb\xbf" + example,
    "crlf": example.replace(b"\n", b"\r\n"),
    "importing": '\nimport "byte.tplan"',
}
for name, text in sources.items():
    (folder / f"{name}.tplan").write_bytes(text if isinstance(text, bytes) else text.encode())
(folder / "overrides.txt").write_text("--set=model.L=" + "1" * (4 << 20))
(folder / "escape-set.txt").write_text("--set=model.L=\033[2J")
(folder / "escape-list.txt").write_text("--list=a\033[2J")
