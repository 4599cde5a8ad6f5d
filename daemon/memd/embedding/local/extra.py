"""Detects the optional packages of local models, and how to install them."""

from __future__ import annotations

import platform
import sys
from typing import Final

from memd.embedding.local.engine import find_engine
from memd_client.errors import LocalExtraMissingError

WHEELS: Final = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
"""The systems and machines that xllamacpp has a wheel for; on Linux with glibc."""


def is_extra_installed() -> bool:
    """Return whether an engine of local models is installed now, without importing it."""
    return find_engine() is not None


def local_extra() -> str:
    """Return the extra of this package that runs local models on this machine: a wheel, or llama-cpp-python."""
    is_linux = sys.platform == "linux"
    has_wheel = (sys.platform, platform.machine()) in WHEELS and (
        not is_linux or platform.libc_ver()[0] == "glibc"
    )
    return "local" if has_wheel else "local-build"


def extra_missing_error(message: str) -> LocalExtraMissingError:
    """Return the error with the command that installs the packages. Blocks on disk."""
    from memd_client.installation import Installation

    command = Installation().add_extra(local_extra())
    return LocalExtraMissingError(message, hint=f"install it: `{command}`")


def extra_unusable_error(message: str) -> LocalExtraMissingError:
    """Return the error for an engine that fails to load. Blocks on disk."""
    from memd_client.installation import Installation

    engine = find_engine()
    if engine is None:
        return extra_missing_error(message)
    return LocalExtraMissingError(message, hint=f"reinstall it: `{Installation().reinstall(engine.package)}`")
