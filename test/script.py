"""A program whose name has no ending, as a module."""
import importlib.machinery
import importlib.util


def load_script(path):
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module
