"""What a client connects to: the socket of this machine's daemon, or another machine's daemon over ssh."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import discovery
from .errors import ConfigInvalidError
from .state_folder import named_path, names_state_dir

if TYPE_CHECKING:
    from .ssh_host import SshHost

CONNECT_TIMEOUT_S = 5.0
"""Default of `connect_timeout_s` for a daemon of this machine."""

HOST_CONNECT_TIMEOUT_S = 20.0
"""Default of `connect_timeout_s` for a host: ssh's handshake over a slow network, and a start of the daemon there."""


class Destination:
    """The arguments of a client that say what it connects to, checked.

    `path` is the socket's path, empty for a host; `ssh` is None for a socket. `state_dir` is the given state folder;
    None: found by the environment.

    Raises:
        SocketPathError: The path can't be a socket's.
        ConfigInvalidError: The host can't be one, or an argument has no meaning for a host.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None,
        host: str | None,
        connect_timeout_s: float | None,
        *,
        autostart: bool,
        daemon_command: Sequence[str] | None,
        state_dir: str | os.PathLike[str] | None,
    ) -> None:
        self.ssh: SshHost | None = None
        # With its links: a started daemon also looks at the name of the folder.
        self.state_dir = (
            named_path(os.fspath(state_dir), os.environ, discovery.home_directory) if state_dir else None
        )
        self._is_any = state_dir == "" or host is not None
        self._has_path = socket_path is not None
        if host is None:
            default_s = CONNECT_TIMEOUT_S
            self.path = (
                discovery.socket_path(state_dir=self.state_dir)
                if socket_path is None
                else discovery.check_socket_path(socket_path)
            )
        else:
            from .ssh_host import SshHost

            default_s = HOST_CONNECT_TIMEOUT_S
            local = {
                "socket_path": socket_path,
                "autostart": autostart or None,
                "daemon_command": daemon_command,
                "state_dir": state_dir,
            }
            _refuse([name for name, value in local.items() if value is not None])
            self.ssh = SshHost(host)
            self.path = ""
        self.connect_timeout_s = default_s if connect_timeout_s is None else connect_timeout_s

    def required_state_dir(self) -> str:
        """Return the state folder that the daemon must serve, for `hello`; empty if any will do.

        Found again for each connection, because the default folder changes when OpenClaw is installed. A program that
        names a socket has chosen the daemon itself, unless the environment names a state folder as well.
        """
        if self._is_any or (self._has_path and self.state_dir is None and not names_state_dir(os.environ)):
            return ""
        return discovery.state_folder(state_dir=self.state_dir)

    def __str__(self) -> str:
        return self.path if self.ssh is None else self.ssh.name


def _refuse(names: Sequence[str]) -> None:
    """Raise if a client with a host has arguments that concern a daemon of this machine."""
    if names:
        raise ConfigInvalidError(
            f"{names[0]} cannot be combined with host: it concerns a daemon of this machine",
            hint=f"omit {names[0]}: the host finds and starts its own daemon",
            data={"key": names[0]},
        )
