# lit over test/: one folder a phase, FILE.mlir, FILE.tplan or FILE.test with RUN lines; dialects/ has what a dialect
# refuses on its own (DIALECT-errors.mlir) and its syntax (DIALECT.mlir).
# scripts/test runs it; by hand:  /usr/lib/llvm-22/bin/lit -v test/fuse
# A build elsewhere than in build/ is named by --param build=DIR.
import os
import sys

import lit.formats

config.name = "tplan"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".tplan", ".test"]
# Inputs are what tests read; oracle holds numbers; the others have programs of their own kinds.
config.excludes = ["Inputs", "device", "gpu", "gradients", "huggingface", "invariance", "layouts", "newcomer", "oracle"]

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(lit_config.params.get("build", os.path.join(source, "build")))
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-22")

config.test_source_root = os.path.join(source, "test")
config.test_exec_root = os.path.join(build, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), os.path.join(llvm, "bin"), os.environ["PATH"]])
for name in "OMP_NUM_THREADS", "HOME":
    if name in os.environ:
        config.environment[name] = os.environ[name]

# %source: the repository, for examples/ and models/; %bin: executables without a PATH.
config.substitutions.append(("%source", source))
config.substitutions.append(("%bin", os.path.join(build, "bin")))
# "not --crash" aside, a test that expects an exit code says so: %exit 2 tplanc ...
config.substitutions.append(("%exit", os.path.join(source, "test", "exit-with")))
config.substitutions.append(("%python", sys.executable))
