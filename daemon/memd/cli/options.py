"""Options that several commands have, and what every text from the command line must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd.system.nearest_name import did_you_mean

if TYPE_CHECKING:
    _AnyChoice = click.Choice[str]
else:
    _AnyChoice = click.Choice  # not a generic class in all releases of click

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_AGENT_CHARS = 256
MAX_QUERY_CHARS = 8_000
MAX_PATH_CHARS = 32_768
MAX_MODEL_REF_CHARS = 4_096
MAX_FACT_CHARS = 4_000
MAX_FACT_ID_CHARS = 128
MAX_NOTE_BYTES = 64 * 1024
MAX_RESULTS = 1_000
"""The daemon's limits, which tests/unit/cli/test_limits.py compares with these."""

MAX_LOG_LINES = 1_000_000

MAX_LINE = 1_000_000_000
"""The daemon has no limit for line numbers; a larger one may not fit into a message to it."""


class Choice(_AnyChoice):
    """One of a few words; a mistyped one gets the word that was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        try:
            return str(super().convert(value, param, ctx))
        except click.BadParameter:
            meant = did_you_mean(str(value), self.choices)
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}{meant or '.'}", param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what can be given, on one line."""
        return f"Choose from {', '.join(self.choices)}."


class Fraction(click.FloatRange):
    """A number from 0 to 1, or another range; NaN is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if number != number:
            self.fail(f"{value} is not in the range {self.min}<=x<={self.max}.", param, ctx)
        return number


def utf8(text: str) -> str:
    """Return text from the command line that can travel: the shell may pass bytes that are no text at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{text!r} is not valid UTF-8.") from None
    return text


def at_most(chars: int) -> Callable[[str], str]:
    """Return a type of argument: UTF-8 text of at most so many characters."""

    def text(given: str) -> str:
        if len(given) > chars:
            raise click.BadParameter(f"it has {len(given):,} characters; at most {chars:,} are possible.")
        return utf8(given)

    return text


ALL_AGENTS = "all"
"""As the agent of a search: all of them, unless an agent has this id."""


def agent_option(function: Function) -> Function:
    """Add `--agent` to a command."""
    return click.option(
        "--agent",
        type=at_most(MAX_AGENT_CHARS),
        metavar="ID",
        shell_complete=_complete_agents,
        help="The agent; `memctl status` lists them.",
    )(function)


def agent_or_all_option(function: Function) -> Function:
    """Add `--agent` to a command that takes `all` as well."""
    return click.option(
        "--agent",
        type=at_most(MAX_AGENT_CHARS),
        metavar="ID",
        shell_complete=_complete_agents_or_all,
        help=f"The agent, or {ALL_AGENTS}; `memctl status` lists them.",
    )(function)


def _complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return ids for the shell to complete."""
    from memd.cli.known_names import agent_ids

    return agent_ids(incomplete)


def _complete_agents_or_all(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return ids for the shell to complete, and the word for all agents."""
    found = _complete_agents(ctx, param, incomplete)
    return sorted({*found, ALL_AGENTS}) if ALL_AGENTS.startswith(incomplete) else found


def json_option(function: Function) -> Function:
    """Add `--json` to a command."""
    return click.option("as_json", "--json", is_flag=True, help="Print the reply as JSON.")(function)


def examples(*lines: str) -> str:
    """Return the end of a command's help: commands to copy, left as they are broken into lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {each}" for each in lines)
