"""Packages that stand for llama-cpp-python in model processes: with a GPU or without."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from memd.embedding.local.engine import ENGINES

WHEEL = """
import os
from memd.embedding.local.exported_functions import load_functions
globals().update(vars(load_functions()))
"""
"""A package that computes with xllamacpp."""

GPU = f"""{WHEEL}
load = llama_model_load_from_file
def llama_supports_gpu_offload():
    return True
def llama_model_load_from_file(path, options):
    with open(os.environ["LOADS"], "a") as loads:
        loads.write(f"{{options.n_gpu_layers}} {{'devices' if options.devices is None else 'no devices'}}\\n")
    is_full = options.n_gpu_layers > int(os.environ.get("FREE_LAYERS", options.n_gpu_layers))
    return None if is_full else load(path, options)
"""
"""A package built for a GPU: lists what was loaded in the file `LOADS`, and has room for `FREE_LAYERS`."""


def skip_without(package: str) -> None:
    """Skip the test if an engine is not installed."""
    if importlib.util.find_spec(next(each.module for each in ENGINES if each.package == package)) is None:
        pytest.skip(f"{package} is not installed")


def write_engine(folder: Path, code: str) -> dict[str, str]:
    """Write a package `llama_cpp`; return the variables with which processes import it."""
    package = folder / "llama_cpp"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(code)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
