"""The list of sections, and the modules that pack and run their rows.

A module has `pack(pack, section)`, which adds rows and what they need to a pack, and `run(row, machine)`, which gives
a Verdict. What a row is made of is its own: it goes through JSON.
"""
import collections
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 480  # seconds of a section

Section = collections.namedtuple("Section", "name module seconds shows")
# holds: whether it is as it should be; None: a figure without a bar. said: the figure, or what is wrong.
Verdict = collections.namedtuple("Verdict", "holds said")


class Failed(Exception):
    """What a row has found, or why gpu-check ends."""


def read():
    """Sections by name."""
    lines = (ROOT / "test" / "gpu" / "sections.tsv").read_text().splitlines()
    rows = [Section(*line.split("\t")) for line in lines if line and line[0] != "#"]
    return {row.name: row for row in rows}


def load(module):
    """A module by its path below the repository, with the folders of the tests that it shares code with."""
    for folder in ("test", "test/gpu", "test/oracle", "test/invariance", "bench/gpu"):
        if str(ROOT / folder) not in sys.path:
            sys.path.insert(0, str(ROOT / folder))
    name = "section_" + pathlib.Path(module).stem
    spec = importlib.util.spec_from_file_location(name, ROOT / module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def chosen(names, known):
    """Those that are named, or all of `known`; an unknown name is an error."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Failed(f"there are the sections {', '.join(known)}: found {unknown[0]}")
    return list(dict.fromkeys(names)) or list(known)


def markdown(sections):
    """The list, for docs/cuda.md."""
    return "\n".join(["| section | what it shows |", "|---|---|",
                      *(f"| `{row.name}` | {row.shows} |" for row in sections.values())])
