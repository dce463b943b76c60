#!/usr/bin/env python3
"""Which way includes go: `scripts/includes.py RULE` prints one offence a line.

    rooms   a room of runtime/ includes none that stands below it in the table of runtime/README.md
    files   files do not include each other, not by way of others either; X.h and X.cpp are one
    folders nor do folders: phases, dialects, rooms
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = ("include", "runtime", "dialects", "lib", "tools")


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *TREES],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [path for path in listed if path.endswith((".h", ".cpp", ".def")) and (ROOT / path).exists()]


def includes(paths):
    """(file, line, included file) of each include of a file of ours."""
    known = set(paths)
    for path in paths:
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
            if found:
                beside = str(pathlib.PurePath(path).parent / found[1])
                for named in (found[1], "include/" + found[1], beside):
                    if named in known:
                        yield path, number, named


def loops(edges):
    """Strongly connected components of more than one node, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(set(component))

    for node in list(edges):
        if node not in index:
            visit(node)
    return found


def grouped(paths, group):
    """Includes between groups of files: from -> to -> the first line that makes it."""
    edges = collections.defaultdict(dict)
    for path, number, named in includes(paths):
        if group(path) != group(named):
            edges[group(path)].setdefault(group(named), f"{path}:{number}: includes {named}")
    return edges


def check_loops(paths, group):
    edges = grouped(paths, group)
    for loop in loops(edges):
        yield "a loop of " + ", ".join(sorted(loop))
        for node in sorted(loop):
            yield from (f"  {line}" for other, line in edges[node].items() if other in loop)


def check_rooms(paths):
    rooms = re.findall(r"^\| `(\w+)` \|", (ROOT / "runtime/README.md").read_text(), re.M)
    order = {room: number for number, room in enumerate(rooms)}
    room_of = lambda path: path.split("/")[1]
    ours = [path for path in paths if path.startswith("runtime/")]
    for path in ours:
        if path.count("/") != 2 or room_of(path) not in order:
            yield f"{path}: lies in no room that runtime/README.md names"
    yield from (f"runtime/README.md: a room without a file: {room}"
                for room in rooms if not any(room_of(path) == room for path in ours))
    for path, number, named in includes(paths):
        if not path.startswith("runtime/"):
            continue
        if not named.startswith(("runtime/", "include/")):
            yield f"{path}:{number}: the runtime shares only include/ with the compiler, found {named}"
        elif named.startswith("runtime/") and order.get(room_of(named), 0) > order.get(room_of(path), 0):
            yield f"{path}:{number}: {room_of(path)} stands above {room_of(named)}, found {named}"


def main():
    paths = sources()
    rules = {
        "rooms": lambda: check_rooms(paths),
        "files": lambda: check_loops(paths, lambda path: path.rsplit(".", 1)[0]),
        "folders": lambda: check_loops(paths, lambda path: "/".join(path.split("/")[:2])),
    }
    if len(sys.argv) != 2 or sys.argv[1] not in rules:
        sys.exit(f"usage: scripts/includes.py {'|'.join(rules)}")
    for offence in rules[sys.argv[1]]():
        print(offence)


if __name__ == "__main__":
    main()
