"""Fifty single edits of examples/, drawn by a seed: what a typing error does to a plan.

drop      a token is left out
double    a token, or a line, is there twice
misspell  a letter of a word is left out, doubled, changed with the next or replaced
swap      two neighbouring tokens change places

The texts of comments and strings are left alone: no compiler knows what they should be. The same seed draws the same
edits for as long as examples/ is what it was; run as a program, this prints them."""
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEED = 23
TOKEN = re.compile(r'//[^\n]*|"[^"\n]*"|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\w*|->|\.\.|\S')


def tokens(text):
    """(begin, end) of what is neither comment nor string, in order."""
    return [m.span() for m in TOKEN.finditer(text) if m[0][0] != '"' and not m[0].startswith("//")]


def misspelt(word, rng):
    at = rng.randrange(len(word))
    ways = [word[:at] + word[at] + word[at:]]
    if len(word) > 1:
        ways += [word[:at] + word[at + 1:], word[:at] + rng.choice("aeiortns") + word[at + 1:]]
        at = min(at, len(word) - 2)
        ways.append(word[:at] + word[at + 1] + word[at] + word[at + 2:])
    ways = [way for way in ways if way != word and not way[0].isdigit()]
    return rng.choice(ways)


def edit(text, kind, rng):
    """(what was done, the text after it)."""
    spans = tokens(text)
    if kind == "swap":
        i = rng.randrange(len(spans) - 1)
        (a, b), (c, d) = spans[i], spans[i + 1]
        return f"{text[a:b]} {text[c:d]}", a, text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
    if kind == "misspell":
        spans = [span for span in spans if text[span[0]].isalpha()]
    a, b = rng.choice(spans)
    if kind == "drop":
        return text[a:b], a, text[:a] + text[b:]
    if kind == "misspell":
        new = misspelt(text[a:b], rng)
        return f"{text[a:b]} as {new}", a, text[:a] + new + text[b:]
    if rng.random() < 0.5:
        return text[a:b], a, text[:a] + text[a:b] + " " + text[a:]
    begin, end = text.rfind("\n", 0, a) + 1, text.find("\n", a) + 1
    return "the line of " + text[a:b], a, text[:begin] + text[begin:end] + text[begin:]


def draw(count=50):
    """[(name, file, text)]: as many distinct edits, the kinds in turn."""
    rng = random.Random(SEED)
    files = sorted(file for file in (ROOT / "examples").glob("*.tplan") if file.stem != "gpt_100b_32gpu") # needs --plan
    kinds = ["drop", "double", "misspell", "swap"]
    found = {}
    while len(found) < count:
        kind = kinds[len(found) % len(kinds)]
        file = rng.choice(files)
        text = file.read_text()
        what, at, new = edit(text, kind, rng)
        line = text.count("\n", 0, at) + 1
        if new != text:
            found.setdefault(f"{kind} {what} at {file.name}:{line}", (file, new))
    return [(name, file, new) for name, (file, new) in found.items()]


if __name__ == "__main__":
    for name, _, _ in draw():
        print(name)
