"""The engine of local models: the installed package whose llama.cpp the model process uses."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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
    import llama_cpp

    return llama_cpp


def _load_xllamacpp() -> Any:
    from memd.embedding.local.exported_functions import load_functions

    return load_functions()


ENGINES: Final = (
    LlamaEngine("llama-cpp-python", "llama_cpp", _load_llama_cpp_python),
    LlamaEngine("xllamacpp", "xllamacpp", _load_xllamacpp),
)
"""The first that is installed is used: people build llama-cpp-python for their processor or GPU, while xllamacpp is a
wheel that needs no compiler."""


def find_engine() -> LlamaEngine | None:
    """Return the engine that a model process would use now, without importing it."""
    importlib.invalidate_caches()
    return next((each for each in ENGINES if importlib.util.find_spec(each.module) is not None), None)


def load_engine(on_load: Callable[[str], None] = lambda _: None) -> tuple[LlamaEngine, Any]:
    """Import an engine, in the model process; return it and llama.cpp's functions.

    An engine that can't be loaded is passed over if another one is installed. `on_load` gets the package before each
    attempt.

    Raises:
        ImportError, OSError, RuntimeError: None is installed, or none can be loaded; the reason is that of the first.
    """
    reasons: list[Exception] = []
    for engine in ENGINES:
        on_load(engine.package)
        try:
            return engine, engine.load()
        except (ImportError, OSError, RuntimeError) as error:  # a broken shared library raises any of them
            reasons.append(error)
    raise reasons[0]
