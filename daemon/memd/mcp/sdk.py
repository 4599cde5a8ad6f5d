"""The official MCP SDK, imported without what a server on standard streams has no use for.

Whoever starts a server waits for its first answer, and most of that time goes into imports: the SDK's packages pull
in its clients and web servers, and make the validators of all messages at once. Nothing of the SDK is changed: its
modules are imported one by one, and where they can't be, as a whole.
"""

from __future__ import annotations

import gc
import importlib
import sys
from importlib.util import find_spec, module_from_spec

from memd.system.lazy_imports import defer_import

NEEDED = ("mcp.server.lowlevel.server", "mcp.server.stdio")

PACKAGES = ("mcp", "mcp.server")
"""Packages whose `__init__` imports clients, HTTP and what serves it; their modules do without."""

DEFERRED = ("httpx", "jsonschema")
"""Modules the SDK names at its top and needs for what isn't done here: they are imported when something asks them."""


class SdkMissingError(ImportError):
    """The SDK isn't installed, or in a release that memd doesn't know."""


def install_command() -> str:
    """Return the shell command that installs the SDK for this Python."""
    from memd_client.installation import Installation

    return Installation().add_extra("mcp")


def load_sdk() -> None:
    """Import what `memd.mcp.serving` needs of the SDK. Where a process has imported it already, nothing happens."""
    if "mcp" in sys.modules:
        return
    if find_spec("mcp") is None:
        raise SdkMissingError(
            f"the MCP server needs the package mcp, which is not installed: `{install_command()}`"
        )
    gc.disable()  # classes by the hundred, and none of them garbage
    try:
        _import_lean()
    except Exception:  # noqa: BLE001 - however another release is built, it can be imported as it is meant to be
        _import_whole()
    finally:
        gc.enable()
    if not hasattr(sys.modules.get("mcp.types"), "ServerResult"):
        raise SdkMissingError(f"this release of the package mcp is unknown to memd: `{install_command()}`")


def _import_lean() -> None:
    """Import the server's modules, their packages left unexecuted, with validators made at their first use."""
    from pydantic import BaseModel

    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        sys.modules[name] = module_from_spec(spec)
    for name in DEFERRED:
        if name not in sys.modules:
            defer_import(name)
    BaseModel.model_config["defer_build"] = True
    try:
        for name in NEEDED:
            importlib.import_module(name)
    finally:
        del BaseModel.model_config["defer_build"]


def _import_whole() -> None:
    """Import the server's modules as anybody would."""
    for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
        del sys.modules[name]
    try:
        for name in NEEDED:
            importlib.import_module(name)
    except ImportError as error:
        raise SdkMissingError(
            f"the package mcp can't be imported ({error}): `{install_command()}`"
        ) from error
