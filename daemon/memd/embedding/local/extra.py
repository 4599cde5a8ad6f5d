"""llama-cpp-python and gguf, which only local models need: whether they are here, and how to add them."""

from __future__ import annotations

import importlib.util

from memd_client.errors import LocalExtraMissingError


def is_extra_installed() -> bool:
    """Return whether llama-cpp-python is installed; doesn't import it. It may come while the daemon runs."""
    importlib.invalidate_caches()
    return importlib.util.find_spec("llama_cpp") is not None


def extra_missing(message: str) -> LocalExtraMissingError:
    """Return the error with the command that adds the packages here; reads a few small files for it."""
    from memd_client.installation import Installation

    command = Installation().add_extra("local")
    return LocalExtraMissingError(message, hint=f"Add it (needs a C++ compiler): `{command}`.")


def extra_unusable(message: str) -> LocalExtraMissingError:
    """Return the same for llama-cpp-python that failed to load: installed again if it is there."""
    from memd_client.installation import Installation

    if not is_extra_installed():
        return extra_missing(message)
    command = Installation().reinstall("llama-cpp-python")
    return LocalExtraMissingError(message, hint=f"Install it again (needs a C++ compiler): `{command}`.")
