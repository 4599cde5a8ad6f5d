"""Packages that stand for llama-cpp-python in model processes: they crash, or have a GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.embedding.local.engine import ENGINES, find_engine

CRASH = "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n"
"""A package with an instruction that the processor lacks, in its first function."""

WHEEL = """
import os, signal
from memd.embedding.local.exported_functions import load_functions
globals().update(vars(load_functions()))
"""
"""A package that computes with xllamacpp."""

CRASH_LATER = f"{WHEEL}\ndef llama_decode(context, batch):\n    os.kill(os.getpid(), signal.SIGILL)\n"
"""A package that loads a model, and crashes at the first text."""

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
    if find_engine([engine.package for engine in ENGINES if engine.package != package]) is None:
        pytest.skip(f"{package} is not installed")


def write_engine(folder: Path, code: str) -> dict[str, str]:
    """Write a package `llama_cpp`; return the variables with which processes import it."""
    package = folder / "llama_cpp"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / "llama_cpp.py").write_text(code)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
