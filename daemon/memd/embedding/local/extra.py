"""Detects the optional packages of local models, and how to install them."""

from __future__ import annotations

import importlib.util

from memd_client.errors import LocalExtraMissingError


def is_extra_installed() -> bool:
    """Return whether llama-cpp-python is installed now, without importing it."""
    importlib.invalidate_caches()
    return importlib.util.find_spec("llama_cpp") is not None


def extra_missing_error(message: str) -> LocalExtraMissingError:
    """Return the error with the command that installs the packages. Blocks on disk."""
    from memd_client.installation import Installation

    command = Installation().add_extra("local")
    return LocalExtraMissingError(message, hint=f"install it (needs a C++ compiler): `{command}`")


def extra_unusable_error(message: str) -> LocalExtraMissingError:
    """Return the error for llama-cpp-python that fails to load. Blocks on disk."""
    from memd_client.installation import Installation

    if not is_extra_installed():
        return extra_missing_error(message)
    command = Installation().reinstall("llama-cpp-python")
    return LocalExtraMissingError(message, hint=f"reinstall it (needs a C++ compiler): `{command}`")
