#!/usr/bin/env python3
"""Each diagnostic in the source is reached by a test.

    test/diagnostics.py [FOLDER...]        default: lib

Collects the text of every error, warning and note in the folders: the first string
literal of a reporting call, or of what is streamed into it, and the rows of
NotBuilt.def. Collects what tests expect: expected-error {{..}} comments of
-verify-diagnostics, and CHECK lines that contain `error: ..`, `warning: ..` or
`note: ..`. A text is reached if an expectation matches it with its {0} filled in.
The tests themselves run under lit; here they are only read. Ends in
"N passed, N failed"."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALL = re.compile(r"\b(error|warning|note|fail|formatv|emitError|emitOpError|emitWarning|attachNote)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def closing(text, at):
    """Position after the parenthesis that closes the one before `at`."""
    depth = 1
    while at < len(text) and depth:
        if text[at] == '"':
            at = LITERAL.match(text, at).end() if LITERAL.match(text, at) else at + 1
            continue
        if text[at] == "'" and text[at + 1:at + 4].count("'"):
            at += 4 if text[at + 1] == "\\" else 3
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def literal_at(text, at):
    """Adjacent literals from `at` on as one string, or None."""
    parts = []
    while match := re.compile(r"\s*" + LITERAL.pattern).match(text, at):
        parts.append(match.group(1))
        at = match.end()
    return "".join(parts).encode().decode("unicode_escape") if parts else None


def first_literal(text, begin, end):
    """The first literal among the arguments, unless it is nested in another call."""
    depth, at = 0, begin
    while at < end:
        if text[at] == '"' and depth == 0:
            return literal_at(text, at)
        if text[at] == '"':
            at = LITERAL.match(text, at).end()
            continue
        depth += {"(": 1, ")": -1, "{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return None


def diagnostics(path):
    """(line, text, is_prefix) of each diagnostic of a file."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    if path.name == "NotBuilt.def":
        for match in re.finditer(r'^NOT_BUILT\(\w+,\s*', text, re.M):
            yield text.count("\n", 0, match.end()) + 1, literal_at(text, match.end()), False
        return
    for match in CALL.finditer(text):
        end = closing(text, match.end())
        line = text.count("\n", 0, match.start()) + 1
        name = match.group(1)
        literal = first_literal(text, match.end(), end - 1)
        streamed = re.compile(r"\s*<<\s*(?=\")").match(text, end)
        if name == "formatv":
            # Takes only texts that are streamed into a note; other texts are parts of messages.
            if not re.search(r"attachNote\([^;]*$", text[:match.start()]):
                continue
        elif name in ("attachNote", "emitError", "emitWarning", "emitOpError") and streamed:
            yield line, literal_at(text, streamed.end()), True
            continue
        if literal and re.search(r"[a-z]{2}", literal) and literal != "{0}":
            goes_on = re.search(re.escape(literal[-8:]) + r'"\s*\+', text[match.end():end])
            yield line, literal, name.startswith("emit") or goes_on is not None


def pattern(literal, prefix):
    """A regular expression for the messages that a text yields."""
    parts = re.split(r"(\{\{|\{\d[^}]*\})", literal)
    out = "".join(".*?" if re.match(r"\{\d", p) else re.escape("{" if p == "{{" else p)
                  for p in parts)
    return re.compile(out + (".*" if prefix else r"(; .*)?"), re.S)


def expectations():
    found = []
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix not in (".tplan", ".mlir", ".test", ".md", ".cpp"):
            continue
        text = path.read_text()
        found += re.findall(r"expected-(?:error|warning|note)[^{\n]*\{\{(.*?)\}\}(?!\})", text)
        found += re.findall(r"^[/ ]*[A-Z][A-Z-]*:.*?(?:error|warning|note): (.*)", text, re.M)
    return [re.sub(r"\{\{\.\*\}\}", "_", text) for text in found]


def main():
    folders = sys.argv[1:] or ["lib"]
    expected = expectations()
    passed = failed = 0
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".y", ".l", ".def"):
                continue
            for line, literal, prefix in diagnostics(path):
                regex = pattern(literal, prefix)
                if any(regex.fullmatch(text) or regex.fullmatch(text.rstrip()) for text in expected):
                    passed += 1
                else:
                    failed += 1
                    print(f"{path.relative_to(ROOT)}:{line}: no test expects: {literal}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
