"""The machine that a pack is run on: its GPU, and where the libraries are.

The driver is asked through ctypes, because a machine may have only Python. NVIDIA's libraries are on the loader's
path, or in the folder nvidia/ of some Python's packages, which TPLAN_NVIDIA names then.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from sections import LIMIT, ROOT, Failed

STAND_IN = {"TPLAN_CUDA": "libstandin_cuda.so", "TPLAN_CUBLASLT": "libstandin_cublasLt.so", "TPLAN_CUDNN": "libstandin_cudnn.so",
            "TPLAN_NCCL": "libstandin_nccl.so", "STANDIN_CUDA": "libstandin_cuda.so"}


class Driver:
    """NVIDIA's driver, or what stands in for it."""

    def __init__(self, environment):
        name = environment.get("TPLAN_CUDA") or "libcuda.so.1"
        try:
            self.library = ctypes.CDLL(name)
        except OSError as error:
            raise Failed(f"there is no NVIDIA driver here; --stand-in runs without one: {error}") from None
        self.call("cuInit", 0)
        self.gpu = self.number("cuDeviceGet", 0)

    def call(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code:
            raise Failed(f"the NVIDIA driver refuses {function}: {code}")

    def number(self, function, *arguments):
        found = ctypes.c_int()
        self.call(function, ctypes.byref(found), *arguments)
        return found.value

    def version(self):
        return self.number("cuDriverGetVersion")

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.gpu)
        return text.value.decode()

    def architecture(self):
        """90 for compute capability 9.0."""
        return 10 * self.number("cuDeviceGetAttribute", 75, self.gpu) + self.number("cuDeviceGetAttribute", 76, self.gpu)

    def free(self):
        """Bytes of the GPU that nobody holds; from the first call on this process has a context there."""
        context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.gpu)
        self.call("cuCtxSetCurrent", context)
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value


def packages():
    """Folders of the Pythons here in which packages are."""
    folders = [pathlib.Path(path) for path in sys.path if path.endswith("-packages")]
    for name in ("python3", "python"):
        if python := shutil.which(name):
            asked = subprocess.run([python, "-c", "import sys; print('\\n'.join(sys.path))"], capture_output=True, text=True)
            folders += [pathlib.Path(path) for path in asked.stdout.split("\n") if path.endswith("-packages")]
    return folders


def find_environment(pack, stand_in):
    """Variables of what is run."""
    environment = dict(os.environ)
    folders = filter(None, [str(pack / "lib"), environment.get("LD_LIBRARY_PATH")])
    environment["LD_LIBRARY_PATH"] = ":".join(folders)
    if stand_in:
        environment = {name: str(ROOT / "build" / "lib" / file) for name, file in STAND_IN.items()} | environment
    if "TPLAN_NVIDIA" not in environment:
        found = [folder / "nvidia" for folder in packages() if (folder / "nvidia").is_dir()]
        environment |= {"TPLAN_NVIDIA": str(found[0])} if found else {}
    return environment


class Machine:
    def __init__(self, pack, tiny, stand_in):
        self.pack, self.tiny = pack, tiny
        self.environment = find_environment(pack, stand_in)
        self.driver = Driver(self.environment)
        version = self.driver.version()
        self.name = f"{self.driver.name()}, driver for CUDA {version // 1000}.{version % 1000 // 10}"
        self.is_stand_in = "libstandin" in self.environment.get("TPLAN_CUDA", "")
        self.temporary = tempfile.TemporaryDirectory(prefix="gpu-check-")  # goes with the object
        self.scratch = pathlib.Path(self.temporary.name)
        self.deadline = time.monotonic() + LIMIT

    def begin_section(self):
        self.deadline = time.monotonic() + LIMIT

    def left(self):
        """Seconds of the section."""
        return self.deadline - time.monotonic()

    def folder(self, name):
        """An empty one."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def run(self, *command, **variables):
        """Standard output of what ends well."""
        done = self.attempt(*command, **variables)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip())[-600:]
            raise Failed(f"{pathlib.Path(command[0]).name} ends with {done.returncode}: {said}")
        return done.stdout

    def run_python(self, *arguments, **variables):
        """This Python, which has libraries of its own."""
        own = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
        return self.run(sys.executable, *arguments, **own, **variables)

    def attempt(self, *command, **variables):
        """However it ends."""
        environment = {**self.environment, **{name: str(value) for name, value in variables.items()}}
        try:
            return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment,
                                  timeout=max(self.left(), 1))
        except subprocess.TimeoutExpired:
            raise Failed(f"{pathlib.Path(command[0]).name} runs past the {LIMIT} seconds of the section") from None
