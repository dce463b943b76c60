#!/usr/bin/env python3
"""The structs of C headers as a table: `structs.py HEADER... -o Structs.inc`.

It makes two kinds of macros of structs `typedef struct NAME {...} NAME;`:

    TP_STRUCTS(STRUCT)      STRUCT(NAME) of each struct
    TP_FIELDS_NAME(FIELD)   FIELD(NAME, field, C type) of each of its fields, in order

lib/Lower/Host/Structs.h makes of it what the compiler fills, and compares it with the headers: a field that is
missing here, or has another type or place than in C, does not compile.
"""
import pathlib
import re
import sys


def match(pattern, text):
    found = re.fullmatch(pattern, text)
    if not found:
        raise ValueError
    return found.groups()


def fields_of(declaration):
    """(name, C type) of each field that `int64_t a, *b` declares."""
    if "(" in declaration:
        result, name, arguments = match(r"(.+?)\(\*\s*(\w+)\)\s*\((.*)\)", declaration)
        return [(name, f"{result.strip()} (*)({arguments})")]
    base, rest = match(r"((?:const\s+)?(?:struct\s+)?\w+)\b\s*(.+)", declaration)
    fields = []
    for declarator in rest.split(","):
        pointers, name = match(r"((?:\*|\s|const\b)*)\b(\w+)", declarator.strip())
        fields.append((name, " ".join(f"{base} {pointers}".split())))
    return fields


def structs(path):
    """(name, fields) of each struct of a header."""
    text = re.sub(r"/\*.*?\*/", " ", pathlib.Path(path).read_text(), flags=re.S)
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", " ".join(text.split())):
        fields = []
        for declaration in filter(None, map(str.strip, body.split(";"))):
            try:
                fields += fields_of(declaration)
            except ValueError:
                sys.exit(f"{path}: {name}: declare fields as numbers, pointers or functions, found '{declaration}'")
        yield name, fields


def main():
    if len(sys.argv) < 4 or sys.argv[-2] != "-o":
        sys.exit("usage: structs.py HEADER... -o Structs.inc")
    *headers, _, out = sys.argv[1:]
    lines = ["// Made by cmake/structs.py of " + ", ".join(pathlib.PurePath(path).name for path in headers)]
    found = [struct for path in headers for struct in structs(path)]
    lines.append("#define TP_STRUCTS(STRUCT) " + " ".join(f"STRUCT({name})" for name, _ in found))
    for name, fields in found:
        rows = " ".join(f"FIELD({name}, {field}, {kind})" for field, kind in fields)
        lines.append(f"#define TP_FIELDS_{name}(FIELD) {rows}")
    pathlib.Path("/dev/stdout" if out == "-" else out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
