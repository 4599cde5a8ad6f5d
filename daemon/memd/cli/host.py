"""`memctl --host`: commands that use the memory of another machine, and those that can't."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from memd.cli.arguments import HintedError
from memd.cli.connect import HOST_VARIABLE, WATCH_TIMEOUT_S, CliSession

if TYPE_CHECKING:
    from memd_client import Client

EXIT_USAGE = 2

LOCAL_COMMANDS = frozenset(
    {"completion", "doctor", "eval", "hooks", "logs", "mcp", "sample", "service", "setup", "stdio", "web"}
)
"""Commands that concern the machine they run on: its programs, settings, files or screen."""

UNAFFECTED = frozenset({"completion", "stdio"})
"""Local commands that a shell or another machine runs, whatever the variable says."""


def use_host(ctx: click.Context, host: str, *, sample: bool) -> None:
    """Make the commands below a context use the memory of a host.

    Raises:
        HintedError: The command, or the option `--sample`, concerns this machine.
    """
    name = ctx.invoked_subcommand or ""
    is_variable = ctx.get_parameter_source("host") is ParameterSource.ENVIRONMENT
    if is_variable and name in UNAFFECTED:
        return
    given = HOST_VARIABLE if is_variable else "--host"
    if sample:
        hint = f"unset {HOST_VARIABLE}" if is_variable else "omit one of them"
        raise HintedError(f"--sample cannot be combined with {given}", hint, EXIT_USAGE)
    session: CliSession = ctx.obj
    ctx.obj = replace(
        session,
        open_client=lambda: _open_client(host, None),
        open_passive_client=lambda: _open_client(host, WATCH_TIMEOUT_S),
        has_memory=lambda: True,
        host=host,
    )
    if name in LOCAL_COMMANDS:
        raise local_command_error(host, name)


def local_command_error(host: str, command: str) -> HintedError:
    """Return the usage error for a command that works on its own machine only."""
    return HintedError(
        f"`memctl {command}` works on its own machine only, not with --host or {HOST_VARIABLE}",
        f"run it there: ssh {shlex.quote(host)} memctl {command} …",
        EXIT_USAGE,
    )


def _open_client(host: str, timeout_s: float | None) -> Client:
    """Return a client for the daemon of a host; None: with the timeouts of all clients."""
    from memd_client import Client

    if timeout_s is None:
        return Client(host=host, client_name="memctl")
    return Client(host=host, timeout_s=timeout_s, client_name="memctl")
