"""The official MCP SDK, if it is installed."""

from __future__ import annotations

import gc
from collections.abc import Callable


class SdkMissingError(ImportError):
    """The SDK is not installed, or has an unsupported version; `hint` says how to install it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.hint = f"run `{install_command()}`"


def install_command() -> str:
    """Return the shell command that installs the SDK for this Python."""
    from memd_client.installation import Installation

    return Installation().add_extra("mcp")


def load_serve() -> Callable[..., None]:
    """Return `memd.mcp.server.serve`; importing the SDK for it takes about a second."""
    gc.disable()  # the import creates hundreds of classes and no garbage
    try:
        from memd.mcp.server import serve
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "mcp"
        problem = "is not installed" if is_missing else f"cannot be imported ({error})"
        raise SdkMissingError(f"the MCP server needs the package mcp, which {problem}") from error
    finally:
        gc.enable()
    return serve
