"""The client of memd, the memory daemon for local AI agents.

Each name is imported when it is first used, so that `import memd_client` costs a program next to nothing;
`__init__.pyi` tells editors and type checkers about them.
"""

from importlib import import_module

_HOMES = {
    "CLIENT_VERSION": "session",
    "Client": "blocking",
    "MemdError": "errors",
    "socket_path": "discovery",
} | dict.fromkeys(
    (
        "PROTOCOL_VERSION",
        "REQUESTS",
        "GetReply",
        "Hit",
        "IndexReply",
        "Progress",
        "SearchReply",
        "StatusReply",
    ),
    "messages",
)
"""The module of each name."""

__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    """Import a name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of the package."""
    return sorted({*globals(), *_HOMES})
