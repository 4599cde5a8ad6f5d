"""The place of the daemon's socket and the owner of its peer, without checks: imports next to nothing.

`discovery` adds the checks; a hook, which must start within milliseconds, needs no more than this.
"""

from __future__ import annotations

import os
import sys

from .state_folder import daemon_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

SOCKET_NAME = "memd.sock"
"""Name of the socket of the user's default state folder; other folders have a number in it."""

MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest socket path in bytes: `sun_path` of the system without its closing NUL."""


def socket_location(env: Mapping[str, str], home: Callable[[], str], state_dir: str | None = None) -> str:
    """Return the path of the daemon's socket by the environment, as `discovery.socket_path` documents.

    Args:
        env: The environment.
        home: Returns the home directory; called only if it is needed.
        state_dir: The absolute path of the state folder; None: found by the environment.
    """
    given = env.get("MEMD_SOCKET")
    if given:
        return os.path.expanduser(given)
    name = f"{daemon_name(env, home, state_dir)}.sock"
    runtime = env.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime):
        return os.path.join(runtime, "memd", name)
    user_runtime = f"/run/user/{os.getuid()}"
    if sys.platform == "linux" and os.path.isdir(user_runtime):
        return os.path.join(user_runtime, "memd", name)
    path = os.path.join(_home_runtime(env, home()), name)
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        return os.path.join(f"/tmp/memd-{os.getuid()}", name)
    return path


def _home_runtime(env: Mapping[str, str], home: str) -> str:
    """Return the directory for the socket on a system without runtime directories."""
    platform: str = sys.platform  # a plain string, so that the type checker reads both branches
    if platform == "darwin":
        return os.path.join(home, "Library", "Caches", "TemporaryItems", "memd")
    state = env.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, "memd", "run")


def peer_uid(sock: Any) -> int | None:
    """Return the user id of the process at the other end of a Unix socket; None on systems that don't report it.

    Args:
        sock: A connected socket, of the standard library or of trio.

    Raises:
        OSError, ValueError: The system has no complete answer.
    """
    platform: str = sys.platform
    if platform == "linux":
        from _socket import SO_PEERCRED, SOL_SOCKET

        facts = sock.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)  # struct ucred: pid, uid, gid
        return _uid_in(facts)
    if platform == "darwin":
        sol_local, local_peercred, xucred_bytes = 0, 0x001, 76  # sys/un.h; socket has no names for them
        return _uid_in(sock.getsockopt(sol_local, local_peercred, xucred_bytes))
    return None


def _uid_in(credentials: bytes) -> int:
    """Return the user id in credentials: an unsigned number after the first four bytes."""
    uid = credentials[4:8]
    if len(uid) < 4:
        raise ValueError("incomplete credentials of the peer")
    return int.from_bytes(uid, sys.byteorder)
