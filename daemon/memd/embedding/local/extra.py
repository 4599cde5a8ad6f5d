"""Detects the optional packages of local models, and how to install them."""

from __future__ import annotations

from collections.abc import Collection

from memd.embedding.local.compiler import compiler_command, has_wheel, missing_compiler
from memd.embedding.local.engine import EngineCrashes, EngineUse, GpuLayers, find_engine
from memd_client.errors import LocalExtraMissingError


def is_extra_installed() -> bool:
    """Return whether an engine of local models is installed now, without importing it."""
    return find_engine() is not None


def local_extra() -> str:
    """Return the extra of this package that runs local models on this machine: a wheel, or llama-cpp-python."""
    return "local" if has_wheel() else "local-build"


def install_hint(extra: str) -> str:
    """Return how to install an extra of `local_extra`, and what it needs. Blocks on disk, and may run a command."""
    from memd_client.installation import Installation

    command = Installation().add_extra(extra)
    missing = missing_compiler() if extra == "local-build" else ""
    if not missing:
        return f"run `{command}`"
    install = compiler_command()
    way = f"run `{install} && {command}`" if install else f"install a compiler, then run `{command}`"
    return f"{way}; llama.cpp has to be built here, which needs a {missing}; keyword search works meanwhile"


def extra_missing_error(message: str) -> LocalExtraMissingError:
    """Return the error with the command that installs the packages. Blocks as `install_hint`."""
    return LocalExtraMissingError(message, hint=install_hint(local_extra()))


def extra_unusable_error(message: str, excluded: Collection[str] = ()) -> LocalExtraMissingError:
    """Return the error for an engine that fails to load while others are excluded. Blocks on disk."""
    from memd_client.installation import Installation

    engine = find_engine(excluded)
    if engine is None:
        return extra_missing_error(message)
    return LocalExtraMissingError(message, hint=f"reinstall it: `{Installation().reinstall(engine.package)}`")


def engines_crashed_error(crashed: Collection[str]) -> LocalExtraMissingError:
    """Return the error if all installed engines crashed, with the command that installs another. Blocks on disk."""
    from memd_client.installation import Installation

    if "xllamacpp" not in crashed and local_extra() == "local":
        hint = install_hint("local")
    elif "llama-cpp-python" not in crashed:
        hint = install_hint("local-build")
    else:
        hint = f"build it for this processor: `{Installation().reinstall('llama-cpp-python')}`"
    message = f"{_crash_text(crashed)}, and no other package with llama.cpp is installed"
    return LocalExtraMissingError(message, hint=hint)


def engine_problem(use: EngineUse, crashes: EngineCrashes, gpu_layers: GpuLayers) -> str:
    """Return why a loaded model doesn't use an engine or a GPU as wanted; else an empty text. Blocks on disk."""
    if use.package and (crashed := crashes.packages()):
        return f"{_crash_text(crashed)}: {use.package} is used instead"
    if use.has_gpu is False and gpu_layers not in ("auto", 0):
        return f"{use.package} was built without GPU support: local.gpuLayers = {gpu_layers} has no effect"
    return ""


def _crash_text(crashed: Collection[str]) -> str:
    return f"{' and '.join(crashed)} crashed on this processor (illegal instruction)"
