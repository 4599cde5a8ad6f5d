"""Both engines of local models: the same code gives the same vectors, and neither listens on a socket."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.embedding.local import engine as engines
from memd.embedding.local.engine import ENGINES, find_engine, load_engine
from memd.embedding.local.exported_functions import load_functions

EMBED = """
import os, sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
from memd.embedding.local.engine import ENGINES
functions = next(each for each in ENGINES if each.package == sys.argv[2]).load()
model = LoadedModel(functions, sys.argv[1], 512, 2, CancellationFlag())
texts = ["lease", "The lease of flat 7 ends in March.", "größe 研究 안녕하세요 " * 30, "word " * 900]
sockets = [each for each in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{each}")
           and os.readlink(f"/proc/self/fd/{each}").startswith("socket:")]
assert sockets == [], sockets
sys.stdout.buffer.write(b"".join(model.embed(text)[0] for text in texts))
"""


def vectors_of(package: str, model: Path) -> NDArray[np.float32]:
    """Return the vectors (texts, 384) of an engine, of unit length; skip the test without the engine."""
    module = next(each.module for each in ENGINES if each.package == package)
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{package} is not installed")
    ended = subprocess.run(
        [sys.executable, "-c", EMBED, str(model), package], capture_output=True, check=False, timeout=240
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    rows = np.frombuffer(ended.stdout, dtype="<f4").reshape(-1, 384)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@pytest.mark.model
def test_engines_give_the_same_vectors_without_a_socket(minilm: Path) -> None:
    first, second = (vectors_of(each.package, minilm) for each in ENGINES)
    assert first.shape == (4, 384)
    assert float(np.min(np.sum(first * second, axis=1))) > 0.9999


def installed(*modules: str) -> SimpleNamespace:
    """Return what stands for `importlib.util` while some modules are installed."""
    return SimpleNamespace(
        util=SimpleNamespace(find_spec=lambda name: name if name in modules else None),
        invalidate_caches=lambda: None,
    )


@pytest.mark.parametrize(
    ("modules", "package"),
    [
        (("llama_cpp", "xllamacpp"), "llama-cpp-python"),
        (("xllamacpp",), "xllamacpp"),
        ((), None),
    ],
)
def test_own_build_is_preferred_to_the_wheel(
    monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...], package: str | None
) -> None:
    monkeypatch.setattr(engines, "importlib", installed(*modules))
    found = find_engine()
    assert (found and found.package) == package


def test_engine_that_can_not_be_loaded_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> object:
        raise OSError("libllama.so: cannot open shared object file")

    wheel = ENGINES[1]._replace(load=lambda: "functions")
    monkeypatch.setattr(engines, "ENGINES", (ENGINES[0]._replace(load=broken), wheel))
    assert load_engine() == (wheel, "functions")

    monkeypatch.setattr(engines, "ENGINES", (ENGINES[0]._replace(load=broken),))
    with pytest.raises(OSError, match="libllama"):
        load_engine()


def test_build_with_other_structures_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    module = sys.modules[load_functions.__module__]
    fields = [("inserted", ctypes.c_size_t), *module.LlamaContextParams._fields_]
    other = type("LlamaContextParams", (ctypes.Structure,), {"_fields_": fields})
    changed = {**module.FUNCTIONS, "llama_context_default_params": (other,)}
    monkeypatch.setattr(module, "FUNCTIONS", changed)
    with pytest.raises(RuntimeError, match="unknown layout of llama_context_default_params"):
        load_functions()
