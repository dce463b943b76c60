#!/usr/bin/env python3
"""Words that a newcomer stumbles over, in comments and pages: `scripts/words.py` prints one offence a line.

scripts/words.tsv has the words, each with a better one and with a comment in which it must be found.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLASHES = (".cpp", ".h", ".c", ".inc", ".td", ".def", ".l", ".y", ".mlir", ".tplan")
DIRECTIVE = re.compile(r"(RUN|expected-\w+|[A-Z0-9_]+(-[A-Z0-9_]+)*)\b.*:")


def lines_of_comments(path, text):
    """(number, text) of each line of a comment; in a page, of each line that is not code."""
    name = pathlib.PurePath(path).name
    slashes, page = name.endswith(SLASHES), name.endswith(".md")
    inside = False  # a block comment, a description of TableGen, a docstring, or code in a page
    for number, line in enumerate(text.splitlines(), 1):
        if page:
            inside ^= line.startswith("```")
            if not inside and not line.startswith("    "):
                yield number, re.sub(r"^[\s|*-]*", "", line)
        elif slashes:
            begins = re.search(r"/\*|description = \[\{", line)
            if inside or begins:
                yield number, re.sub(r"^[\s*]*", "", line[begins.end() if begins and not inside else 0:])
                inside = not re.search(r"\*/|\}\]", line)
            elif found := re.search(r"(?:^|\s)//+<?\s*(.*)", line):
                if not DIRECTIVE.match(found[1]):
                    yield number, found[1]
        else:
            quotes = line.count('"""')
            if inside or quotes:
                yield number, re.sub(r'^.*?"""' if quotes and not inside else r"^\s*", "", line)
                inside ^= quotes % 2 == 1
            elif found := re.search(r"(?:^|\s)#\s+(.*)", line):
                yield number, found[1]


def table():
    """(pattern, what to write, example) of each row."""
    for line in (ROOT / "scripts/words.tsv").read_text().splitlines():
        if not line.startswith("#"):
            pattern, better, example = line.split("\t")
            yield re.compile(pattern), better, example


def main():
    words = list(table())
    for pattern, _, example in words:
        if not any(pattern.search(text) for _, text in lines_of_comments("a.cpp", "int a; // " + example)):
            print(f"scripts/words.tsv: the example of {pattern.pattern} has none: {example}")
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for path in sys.argv[1:] or listed:
        if path.startswith("scripts/words.") or path.endswith((".json", ".safetensors")) or not (ROOT / path).is_file():
            continue
        for number, text in lines_of_comments(path, (ROOT / path).read_text(errors="replace")):
            for pattern, better, _ in words:
                if found := pattern.search(text):
                    print(f"{path}:{number}: {found[0].strip()}: write {better}")


if __name__ == "__main__":
    main()
