"""Groups of commands, options that several have, and texts from the command line, checked before anything is sent."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd.system.nearest_name import did_you_mean

UNCUT = 1_000
"""Characters of a command's summary in a list: more than any has, so that a narrow terminal wraps it."""


class CommandGroup(click.Group):
    """A group that prints its help, on standard output, when it is called without a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help if there are none."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            ctx.obj.output.text(ctx.get_help() + "\n")
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        if not ctx.resilient_parsing and not args[0].startswith("-"):
            self.require_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def require_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return the command of a name."""
        command = self.get_command(ctx, name)
        if command is None:
            meant = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"No such command {name!r}{meant or '.'}", ctx)
        return command

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands by the title they are listed below."""
        return {"Commands": self.list_commands(ctx)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, section by section."""
        for title, names in self.sections(ctx).items():
            rows = [(name, self.require_command(ctx, name).get_short_help_str(limit=UNCUT)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=20)


class CommandWithArguments(click.Command):
    """A command that prints its help when it is called without its arguments, as an error.

    On standard error: a script that redirects the output must not get the help as the answer.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help and exit with 2 if there are none."""
        if not args and not ctx.resilient_parsing:
            ctx.obj.output.err.write(ctx.get_help() + "\n")
            ctx.exit(2)
        return super().parse_args(ctx, args)


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
    from memd.cli.completion import agent_ids

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


STDIN = "-"
"""The argument that stands for the text on standard input."""

MAX_BYTES_PER_CHAR = 4
"""Of UTF-8."""

OLDEST_YEAR = 100
"""Of a note's day: the daemon takes a smaller one for no date."""


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEY = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def day(text: str) -> str:
    """Return a day as YYYY-MM-DD."""
    try:
        is_day = _DAY.fullmatch(text) is not None and date.fromisoformat(text).year >= OLDEST_YEAR
    except ValueError:
        is_day = False
    if not is_day:
        raise click.BadParameter(f"{text[:80]!r} is no day as YYYY-MM-DD.")
    return text


def note_key(text: str) -> str:
    """Return the key of a note's entry."""
    if _KEY.fullmatch(text) is None:
        raise click.BadParameter(f"{text[:80]!r} is not 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    return text


def search_text(words: Sequence[str]) -> str:
    """Return the query that words are."""
    query = " ".join(words)
    reason = ""
    if len(query) > MAX_QUERY_CHARS:
        reason = f"it has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are possible"
    elif not query.strip():
        reason = "it is empty; give at least one word"
    elif not any(unicodedata.category(each)[0] in "LNS" for each in query):
        reason = f"{query.strip()!r} has no letter, digit or symbol; give at least one word"
    if reason:
        raise click.BadParameter(f"{reason}.", param_hint="QUERY")
    return query


def note_text(words: Sequence[str]) -> str:
    """Return the entry of a note that words are, or standard input if they are `-`."""
    return _read_text(
        words, MAX_NOTE_BYTES, f"{MAX_NOTE_BYTES:,} bytes; keep it as a file of its own below memory/"
    )


def fact_text(words: Sequence[str]) -> str:
    """Return the fact that words are, or standard input if they are `-`."""
    limit = f"{MAX_FACT_CHARS:,} characters; `memctl note` takes longer texts"
    text = _read_text(words, MAX_BYTES_PER_CHAR * MAX_FACT_CHARS, limit)
    if len(text) > MAX_FACT_CHARS:
        raise _refused(f"it has more than {limit}")
    if not re.search(r"\w", text):
        raise _refused("it has no letter or digit")
    return text


def _read_text(words: Sequence[str], max_bytes: int, limit: str) -> str:
    """Return the text that words are, or standard input if they are `-`."""
    octets = _read_stdin(max_bytes + 1) if list(words) == [STDIN] else " ".join(words).encode()
    if len(octets) > max_bytes:
        raise _refused(f"it has more than {limit}")
    if b"\0" in octets:
        raise _refused("it has NUL bytes, so it is no text")
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"byte {error.start + 1} is not valid UTF-8") from None
    if not text.strip():
        raise _refused("it is empty")
    return text


def _read_stdin(max_bytes: int) -> bytes:
    """Return what standard input has, and no more than so many bytes (blocking until its end)."""
    if sys.stdin is None:
        return b""
    return sys.stdin.buffer.read(max_bytes)


def _refused(reason: str) -> click.BadParameter:
    return click.BadParameter(f"{reason}.", param_hint="TEXT")
