"""A pack: everything that the rows of all sections need on a machine that builds nothing.

One file, a compressed archive of a folder: manifest.json (rows, and an identity that the table keeps), bin/, lib/
(libraries that programs need beside the C library), and a folder for each section.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import sections
from sections import ROOT, Failed

BIN = ROOT / "build" / "bin"
ARCHITECTURE = "sm_90"
MOST = 60 << 20  # bytes of the file; a tiny one stays here, and is not compressed
# What a machine with Python has.
OF_THE_SYSTEM = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv)\.so)")


class Pack:
    def __init__(self, folder, tiny):
        self.folder, self.tiny, self.rows, self.waiting = folder, tiny, [], {}
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def place(self, *names):
        """A path in the pack, with its folder."""
        return self.subfolder(*names[:-1]) / names[-1]

    def subfolder(self, *names):
        path = self.folder.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def add(self, section, name, **facts):
        """A row; what goes through JSON is what `run` is given."""
        self.rows.append({"section": section, "name": name, **facts})

    def program(self, name):
        """Takes a program of the build along."""
        if not (BIN / name).exists():
            raise Failed(f"build it first: {BIN / name} is missing")
        shutil.copy2(BIN / name, self.place("bin", name))

    def compile(self, source, *path, plan=None, settings=(), options=(), architecture=ARCHITECTURE, toolkit=False):
        """A plan as a program at `path`, with its report beside; it is there when the pack is written. Where a toolkit
        is here and is to be used, the program holds its code, too. `options` are tplanc's."""
        binary = self.place(*path)
        if binary in self.waiting:
            return "/".join(path)
        command = [BIN / "tplanc", source, f"--target=cuda:{architecture}", *(["--plan", plan] if plan else []), *options]
        for setting in settings:
            command += ["--set", setting]
        self.waiting[binary] = self.pool.submit(compile_plan, command, binary, toolkit and not self.tiny)
        return "/".join(path)

    def wait(self):
        for work in self.waiting.values():
            work.result()

    def write(self, file):
        """Ends the pack; its size in bytes."""
        self.wait()
        take_libraries(self.folder)
        manifest = {"tiny": self.tiny, "rows": self.rows, "id": identity(self.folder, self.rows)}
        self.place("manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(file.name + ".new")
        # Programs of one runtime are alike: one stream over all of them.
        shrink = [] if self.tiny else ["-I", "xz -6 -T1"]
        subprocess.run(["tar", *shrink, "-C", self.folder, "-cf", unfinished, "."], check=True)
        size = unfinished.stat().st_size
        if size > MOST and not self.tiny:
            unfinished.unlink()
            raise Failed(f"the pack has {size} bytes, and {MOST} can be carried")
        unfinished.replace(file)
        return size


def without_toolkit():
    """Variables under which tplanc finds no ptxas."""
    folders = [folder for folder in os.environ["PATH"].split(":") if not pathlib.Path(folder, "ptxas").exists()]
    return {name: value for name, value in os.environ.items() if name != "CUDA_HOME"} | {"PATH": ":".join(folders)}


def compile_plan(command, binary, toolkit):
    environment = dict(os.environ) if toolkit else without_toolkit()
    for rest in (["-o", binary], ["--report=json", "-o", f"{binary}.json"]):
        done = subprocess.run([*command, *rest], capture_output=True, text=True, env=environment)
        if done.returncode:
            raise Failed(f"tplanc refuses {' '.join(map(str, command[1:]))}: {done.stderr.strip()[-600:]}")


def take_libraries(folder):
    """What programs of the pack are linked with, to lib/."""
    needed = set()
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
            needed |= {tuple(pair) for pair in re.findall(r"(\S+) => (/\S+)", listed)}
    (folder / "lib").mkdir(exist_ok=True)
    for name, path in needed:
        if not OF_THE_SYSTEM.match(name) and not (folder / "lib" / name).exists():
            shutil.copy2(path, folder / "lib" / name)


def identity(folder, rows):
    """A hash of what is in a pack, for the table."""
    found = hashlib.sha256(json.dumps(rows).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(folder)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


def make(file, names, tiny):
    """Packs sections; the size of the file."""
    known = sections.read()
    with tempfile.TemporaryDirectory(prefix="gpu-pack-") as folder:
        pack = Pack(pathlib.Path(folder), tiny)
        for name in names:
            sections.load(known[name].module).pack(pack, name)
        return pack.write(file)


def unpack(file, folder):
    """The manifest; a folder that holds this very file's content is left as it is."""
    stamp = folder / "unpacked"
    if not file.exists():
        raise Failed(f"there is no pack; scripts/gpu-check pack makes it on a machine with the build: {file}")
    mark = f"{file.stat().st_size} {hashlib.sha256(file.read_bytes()).hexdigest()}"
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="fully_trusted")
        stamp.write_text(mark)
    return json.loads((folder / "manifest.json").read_text())
