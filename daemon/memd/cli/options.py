"""Options that several commands have, and what every text from the command line must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def utf8(text: str) -> str:
    """Return text from the command line that can travel: the shell may pass bytes that are no text at all.

    Raises:
        click.BadParameter: It isn't valid UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{text!r} is not valid UTF-8.") from None
    return text


def agent_option(function: Function) -> Function:
    """Add `--agent` to a command."""
    return click.option(
        "--agent",
        type=utf8,
        metavar="ID",
        shell_complete=_complete_agents,
        help="The agent; `memctl status` lists them.",
    )(function)


def _complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return ids for the shell to complete."""
    from memd.cli.known_names import agent_ids

    return agent_ids(incomplete)


def json_option(function: Function) -> Function:
    """Add `--json` to a command."""
    return click.option("as_json", "--json", is_flag=True, help="Print the reply as JSON.")(function)


def examples(*lines: str) -> str:
    """Return the end of a command's help: commands to copy, left as they are broken into lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {each}" for each in lines)
