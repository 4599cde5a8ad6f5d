"""Command groups, shared options, and checks of command-line text before it is sent to the daemon."""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd.system.nearest_name import did_you_mean

UNCUT = 1_000
"""Limit of a command's summary in a list, in characters; longer than any, so that summaries wrap."""


class HintedError(click.ClickException):
    """A failure of a command with the hint to print."""

    def __init__(self, message: str, hint: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]


class CommandGroup(click.Group):
    """A group that prints its help on standard output if called without a command."""

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
            meant = did_you_mean(name, self.suggestions(ctx))
            raise click.UsageError(f"no such command {name!r}{meant}", ctx)
        return command

    def suggestions(self, ctx: click.Context) -> Sequence[str]:
        """Return the names that a mistyped one may stand for."""
        return self.list_commands(ctx)

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands by section title."""
        return {"Commands": self.list_commands(ctx)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of the commands, section by section."""
        for title, names in self.sections(ctx).items():
            rows = [(name, self.require_command(ctx, name).get_short_help_str(limit=UNCUT)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=20)


class CommandWithArguments(click.Command):
    """A command that prints its help on standard error, and exits with 2, if called without arguments.

    One that requires none reads standard input instead, if that is a pipe or a file. A script that redirects standard
    output must not take the help for the result.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help and exit with 2 if there are none."""
        is_needed = any(parameter.required for parameter in self.params) or not is_piped()
        if not args and not ctx.resilient_parsing and is_needed:
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
MAX_CHARS = 100_000
MAX_SOURCE_CHARS = 40
MAX_ERROR_OUTPUT_CHARS = 64_000
"""The daemon's limits; tests/unit/cli/test_limits.py compares both."""

MAX_STDIN_BYTES = 64 * 1024 * 1024
"""Of the output of a command on standard input."""

MAX_LOG_LINES = 1_000_000


class ArgumentChoice(_AnyChoice):
    """An argument with a few possible words; the error for a mistyped one suggests the closest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(super().convert(value, param, ctx))
        except click.BadParameter:
            meant = did_you_mean(str(value), self.choices)
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}{meant}", param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the possible words on one line."""
        return f"Choose from {', '.join(self.choices)}"


class Fraction(click.FloatRange):
    """A number in a range; NaN is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if number != number:
            self.fail(f"{value} is not in the range {self.min}<=x<={self.max}", param, ctx)
        return number


def utf8(text: str) -> str:
    """Return text from the command line; bytes that are not UTF-8 are refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{text!r} is not valid UTF-8") from None
    return text


def at_most(chars: int) -> Callable[[str], str]:
    """Return an argument type: UTF-8 text of at most `chars` characters."""

    def text(given: str) -> str:
        if len(given) > chars:
            raise click.BadParameter(f"it has {len(given):,} characters; the limit is {chars:,}")
        return utf8(given)

    return text


ALL_AGENTS = "all"
"""Selects all agents in a search, unless an agent has this id."""


def agent_option(function: Function) -> Function:
    """Add `--agent` to a command."""
    return _add_agent(function, "The agent; `memctl agents` lists them.", _complete_agents)


def agent_or_all_option(function: Function) -> Function:
    """Add `--agent`, which also accepts `all`, to a command."""
    text = f"The agent, or `{ALL_AGENTS}`; `memctl agents` lists them."
    return _add_agent(function, text, _complete_agents_or_all)


def _add_agent(function: Function, text: str, complete: Callable[..., list[str]]) -> Function:
    return click.option(
        "--agent", type=at_most(MAX_AGENT_CHARS), metavar="ID", shell_complete=complete, help=text
    )(function)


def _complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from memd.cli.completion import agent_ids

    return agent_ids(ctx, incomplete)


def _complete_agents_or_all(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    found = _complete_agents(ctx, param, incomplete)
    return sorted({*found, ALL_AGENTS}) if ALL_AGENTS.startswith(incomplete) else found


def json_option(function: Function) -> Function:
    """Add `--json` to a command."""
    return click.option("as_json", "--json", is_flag=True, help="Print the result as JSON.")(function)


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {each}" for each in lines)


STDIN = "-"
"""The argument that means standard input."""

MAX_BYTES_PER_CHAR = 4
"""Longest character in UTF-8."""

OLDEST_YEAR = 100
"""First year of a note's date that the daemon accepts."""


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEY = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def named_day(text: str) -> str:
    """Return `today`, `yesterday` or the last day with the name of a weekday as YYYY-MM-DD; other text unchanged."""
    days = [date.today() - timedelta(days=age) for age in range(8)]
    names = {f"{each:%A}".lower(): each for each in days[:0:-1]} | {"today": days[0], "yesterday": days[1]}
    found = names.get(text.strip().lower())
    return text if found is None else found.isoformat()


def day(text: str) -> str:
    """Return a valid date as YYYY-MM-DD."""
    text = named_day(text)
    try:
        is_day = _DAY.fullmatch(text) is not None and date.fromisoformat(text).year >= OLDEST_YEAR
    except ValueError:
        is_day = False
    if not is_day:
        raise click.BadParameter(f"{text[:80]!r} is not a date (YYYY-MM-DD, today, yesterday or a weekday)")
    return text


def note_key(text: str) -> str:
    """Return a valid key of a note's entry."""
    if _KEY.fullmatch(text) is None:
        raise click.BadParameter(
            f"{text[:80]!r} is not a key: 1 to 128 of the characters A-Z a-z 0-9 . _ : -"
        )
    return text


def search_text(words: Sequence[str]) -> str:
    """Return the query made of words."""
    query = " ".join(words)
    reason = ""
    if len(query) > MAX_QUERY_CHARS:
        reason = f"it has {len(query):,} characters; the limit is {MAX_QUERY_CHARS:,}"
    elif not query.strip():
        reason = "it is empty; give at least one word"
    elif not any(unicodedata.category(each)[0] in "LNS" for each in query):
        reason = f"{query.strip()!r} has no letter, digit or symbol; give at least one word"
    if reason:
        raise click.BadParameter(reason, param_hint="QUERY")
    return query


def note_text(words: Sequence[str]) -> str:
    """Return the note entry made of words, or standard input if the only word is `-`."""
    return _read_text(
        words, MAX_NOTE_BYTES, f"{MAX_NOTE_BYTES:,} bytes; save it as a file in memory/ instead"
    )


def fact_text(words: Sequence[str]) -> str:
    """Return the fact made of words, or standard input if the only word is `-`."""
    limit = f"{MAX_FACT_CHARS:,} characters; use `memctl note` for longer texts"
    text = _read_text(words, MAX_BYTES_PER_CHAR * MAX_FACT_CHARS, limit)
    if len(text) > MAX_FACT_CHARS:
        raise _refused(f"it has more than {limit}")
    if not re.search(r"\w", text):
        raise _refused("it has no letter or digit")
    return text


def error_output(words: Sequence[str]) -> str:
    """Return the error made of words, or standard input if there are none or the only one is `-`.

    Of a long output both ends are returned, and bytes that are not UTF-8 are replaced.
    """
    text = " ".join(words)
    if text in ("", STDIN):
        text = _read_stdin(MAX_STDIN_BYTES).decode("utf-8", "replace").replace("\0", "")
    if not text.strip():
        raise click.BadParameter("it is empty", param_hint="ERROR")
    half = MAX_ERROR_OUTPUT_CHARS // 2
    return text if len(text) <= 2 * half else f"{text[: half - 1]}\n{text[-half:]}"


def _read_text(words: Sequence[str], max_bytes: int, limit: str) -> str:
    """Return the text made of words, or standard input if there are none or the only one is `-`."""
    octets = _read_stdin(max_bytes + 1) if list(words or [STDIN]) == [STDIN] else " ".join(words).encode()
    if len(octets) > max_bytes:
        raise _refused(f"it has more than {limit}")
    if b"\0" in octets:
        raise _refused("it has NUL bytes")
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"byte {error.start + 1} is not valid UTF-8") from None
    if not text.strip():
        raise _refused("it is empty")
    return text


def is_piped() -> bool:
    """Return whether standard input is a pipe or a file."""
    with suppress(AttributeError, OSError, ValueError):
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    return False


def _read_stdin(max_bytes: int) -> bytes:
    """Return standard input up to `max_bytes` (blocks until its end)."""
    if sys.stdin is None:
        return b""
    return sys.stdin.buffer.read(max_bytes)


def _refused(reason: str) -> click.BadParameter:
    return click.BadParameter(reason, param_hint="TEXT")
