#!/usr/bin/env python3
"""Compiles every snippet of docs/language.md and docs/f16.md: snippets.py FOLDER (for temporary files).

A fenced block is `tplan`, then what it is a part of (body of a model, recipe, cluster, plan;
nothing: a whole file), then `refused: TEXT` if an error with that text must come. Also
checks that the page's table of functions is the compiler's."""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "docs" / name for name in ("language.md", "f16.md")]
LAYERS = """
layer block[F](x: [B, S, D]) -> [B, S, D] {
  linear up : D -> F  linear down : F -> D
  return x + down(relu(up(x)))
}
"""
MODEL = """
model m(V = 16, L = 4, P = 16, D = 8, F = 16) {
  input tokens : i32[B, S]
  next = shift(tokens, 1)
  table embed : V -> D
  linear head : D -> V
  blocks : block x L
  x = embed(tokens)
  for b in blocks { x = b(x) }
  loss last = cross_entropy(head(x), next)
%s}
"""
LINES = {"model": "m", "data": "S = 8", "batch": "8 sequences", "length": "100 steps", "lr": "1e-3"}

Block = collections.namedtuple("Block", "page line part error text")


def blocks():
    """The snippets of the pages."""
    for path in PAGES:
        page = path.read_text()
        for match in re.finditer(r"^```tplan(?: (body|recipe|cluster|plan))?(?: refused: (.*?))?\n(.*?)^```", page, re.M | re.S):
            yield Block(path.name, page.count("\n", 0, match.start()) + 1, *match.groups())


def whole(part, text):
    """The snippet as a file."""
    if not part:
        return text
    lines = dict(LINES)
    if part == "recipe":
        for line in text.strip().splitlines():
            lines.pop(line.split()[0], None)
    recipe = "recipe r {\n" + "".join(f"  {k} {v}\n" for k, v in lines.items())
    recipe += (text if part == "recipe" else "") + "}\n"
    model = MODEL % (text if part == "body" else "")
    cluster = "cluster c {\n" + text + "}\n" if part == "cluster" else ""
    plan = "plan p : r " + ("on c " if cluster else "") + "{\n" + (text if part == "plan" else "") + "}\n"
    return LAYERS + model + recipe + cluster + plan


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    failed = count = 0
    for page, line, part, error, text in blocks():
        path = folder / f"{page}.{line}.tplan"
        path.write_text(whole(part, text))
        run = subprocess.run(["tplanc", path, "--check"], capture_output=True, text=True)
        good = run.returncode == 1 and f"error: {error}" in run.stderr if error else run.returncode == 0
        count += 1
        if not good:
            failed += 1
            print(f"docs/{page}:{line}: expected {error or 'no error'}\n{run.stderr}")
    table = subprocess.run(["tplan-translate", "--builtins"], capture_output=True, text=True).stdout
    if table not in PAGES[0].read_text():
        failed += 1
        print("docs/language.md: the table of functions is not that of tplan-translate --builtins")
    if count < 15:
        failed += 1
        print(f"only {count} snippets found")
    print(f"{count} snippets, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
