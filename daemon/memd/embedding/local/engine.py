"""The engine of local models: the installed package whose llama.cpp the model process uses."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Container
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple

GpuLayers = int | Literal["auto"]
"""The setting `local.gpuLayers`: a number of layers, or all of them if the engine was built for a GPU."""


class LlamaEngine(NamedTuple):
    """A package with llama.cpp.

    Attributes:
        package: Its name, for people and pip.
        module: Its module.
        load: Returns llama.cpp's functions, in the model process.
    """

    package: str
    module: str
    load: Callable[[], Any]


class EngineUse(NamedTuple):
    """How a model process computes.

    Attributes:
        package: Its engine; empty before it is loaded.
        has_gpu: Whether the engine was built for a GPU; None before it is loaded.
        gpu_layers: The layers that a GPU computes; None before they are loaded.
    """

    package: str = ""
    has_gpu: bool | None = None
    gpu_layers: int | None = None


def _load_llama_cpp_python() -> Any:
    """Import the C functions alone: what else the package imports takes longer than loading a small model."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("No module named 'llama_cpp'", name="llama_cpp")
    package = ModuleType("llama_cpp")
    package.__path__ = list(spec.submodule_search_locations)
    known = sys.modules.setdefault("llama_cpp", package)
    try:
        return importlib.import_module("llama_cpp.llama_cpp")
    finally:
        if known is package:
            del sys.modules["llama_cpp"]


def _load_xllamacpp() -> Any:
    from memd.embedding.local.exported_functions import load_functions

    return load_functions()


ENGINES: Final = (
    LlamaEngine("llama-cpp-python", "llama_cpp", _load_llama_cpp_python),
    LlamaEngine("xllamacpp", "xllamacpp", _load_xllamacpp),
)
"""The first that is installed is used: people build llama-cpp-python for their processor or GPU, while xllamacpp is a
wheel that needs no compiler."""


def find_engine(excluded: Container[str] = ()) -> LlamaEngine | None:
    """Return the engine that a model process would use now, without importing it; not one of the excluded packages."""
    importlib.invalidate_caches()
    engines = (engine for engine in ENGINES if engine.package not in excluded)
    return next((engine for engine in engines if importlib.util.find_spec(engine.module) is not None), None)


def load_engine(
    excluded: Container[str] = (), on_load: Callable[[str], None] = lambda _: None
) -> tuple[LlamaEngine, Any]:
    """Import an engine, in the model process; return it and llama.cpp's functions.

    An engine that can't be loaded is passed over if another one is installed. `on_load` gets the package before each
    attempt, which may crash the process.

    Raises:
        ImportError, OSError, RuntimeError: None is installed, or none can be loaded; the reason is that of the first.
    """
    reasons: list[Exception] = []
    for engine in ENGINES:
        if engine.package in excluded:
            continue
        on_load(engine.package)
        try:
            return engine, engine.load()
        except (ImportError, OSError, RuntimeError) as error:  # a broken shared library raises any of them
            reasons.append(error)
    raise reasons[0] if reasons else ImportError("no other package with llama.cpp is installed")


class EngineCrashes:
    """The engines with instructions that this processor lacks. Each is excluded until it is installed anew."""

    def __init__(self) -> None:
        self._crashed: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<EngineCrashes {', '.join(self._crashed) or 'none'}>"

    def add(self, package: str) -> bool:
        """Exclude an engine; False if it was excluded before. Blocks on disk."""
        is_new = package not in self.packages()
        self._crashed[package] = _installation_time_ns(package)
        return is_new

    def packages(self) -> tuple[str, ...]:
        """Return the engines to exclude now. Blocks on disk."""
        return tuple(
            package for package, time_ns in self._crashed.items() if _installation_time_ns(package) == time_ns
        )


def _installation_time_ns(package: str) -> int:
    """Return when an engine was installed; 0 if it isn't."""
    importlib.invalidate_caches()
    module = next((engine.module for engine in ENGINES if engine.package == package), "")
    spec = importlib.util.find_spec(module) if module else None
    return os.stat(spec.origin).st_mtime_ns if spec is not None and spec.origin is not None else 0
