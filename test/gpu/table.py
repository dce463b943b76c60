"""The table of what a GPU has shown: a file that grows by sections.

Rows of another pack or machine are dropped when it is read: a table is of one build on one GPU. The verdict of a row
that was run earlier counts as that of one that was run now.
"""
import collections

Row = collections.namedtuple("Row", "section name verdict said seconds machine pack")
HEAD = "# " + "\t".join(Row._fields)
WORDS = {True: "holds", False: "FAILS", None: "measured"}


def clean(text):
    """One cell: no tabs, no lines."""
    return " ".join(str(text).split())


def read(path):
    """All rows of a file; none where there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    cells = [line.split("\t") for line in lines if line[:1] != "#"]
    return [Row(*row) for row in cells if len(row) == len(Row._fields)]


def counts(rows):
    """How many of the rows with a bar hold, and how many do not."""
    words = [row.verdict for row in rows]
    return words.count(WORDS[True]), words.count(WORDS[False])


class Table:
    def __init__(self, path, machine, pack):
        self.path, self.machine, self.pack = path, clean(machine), pack
        self.rows = {(row.section, row.name): row for row in read(path) if (row.machine, row.pack) == (self.machine, pack)}

    def add(self, section, name, verdict, seconds):
        row = Row(section, clean(name), WORDS[verdict.holds], clean(verdict.said), f"{seconds:.1f}", self.machine, self.pack)
        self.rows[section, row.name] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(self.path.name + ".new")
        unfinished.write_text("\n".join([HEAD, *map("\t".join, self.rows.values())]) + "\n")
        unfinished.replace(self.path)
        return row

    def forget(self, section):
        """Before it is run again."""
        self.rows = {key: row for key, row in self.rows.items() if key[0] != section}


def markdown(rows):
    """For docs/cuda.md."""
    lines = ["| section | row | verdict | figure |", "|---|---|---|---|"]
    for row in rows:
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in
                                       (row.section, row.name, row.verdict, row.said)) + " |")
    return "\n".join(lines)
