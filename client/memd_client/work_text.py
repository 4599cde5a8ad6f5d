"""How answers about the work of agents are shown to people and agents, line by line. Pure functions.

`memctl how`, `fix`, `blame` and `files`, the tools of MCP, and hooks use the same lines:

    $ pytest -q -n 4
      succeeded 12 times, failed once · 5 sessions · 2026-11-20 · in /home/eva/shop
      codex/0199ab#L12-L18 · Fix the port test · shop (main) · codex
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memd_client.escaping import CLOSING_TAG, NOTICE, OUTSIDE, escape_outside, opening_tag
from memd_client.hit_text import CUT_MARK, DOT, describe_session
from memd_client.sources import SessionInfo
from memd_client.work import (
    BlameReply,
    Fix,
    FixReply,
    FixStep,
    HowReply,
    KnownCommand,
    WorkFilesReply,
)

WorkReply = HowReply | FixReply | BlameReply | WorkFilesReply

MAX_LINES, MAX_LINE_CHARS, MAX_SPAN_LINES = 8, 400, 6
"""Lines of a command that are shown, characters of a line, and lines of each side of an edit."""

MAX_REQUEST_CHARS = 300


class WorkLine(NamedTuple):
    """A line of an answer; `kind` is `head`, `code`, `about`, `place` or `note`, or `gap` for a blank line.

    A `head` and a `place` name files and sessions; `code` is what agents ran, wrote or read, quoted.
    """

    kind: str
    text: str = ""
    indent: int = 0


GAP = WorkLine("gap")


def work_lines(reply: WorkReply) -> list[WorkLine]:
    """Return the lines of an answer; of an empty one, what was searched.

    Items that repeat text of other people are in blocks that name their origin.
    """
    match reply:
        case HowReply():
            return _with_blocks(_how_lines(reply), reply.commands)
        case FixReply():
            return _with_blocks(_fix_lines(reply), reply.fixes)
        case BlameReply():
            return [*_blame_lines(reply)]
    return [*_file_lines(reply)]


def _with_blocks(lines: Iterator[WorkLine], items: Sequence[KnownCommand | Fix]) -> list[WorkLine]:
    """Return lines, of which each item has some up to a gap, with outside items in blocks."""
    if all(item.origin != OUTSIDE for item in items):
        return [*lines]
    marked, rest = [WorkLine("note", NOTICE), GAP], [*lines]
    for item in items:
        end = rest.index(GAP)
        own, rest = rest[:end], rest[end + 1 :]
        if item.origin == OUTSIDE:
            own = [
                WorkLine("note", opening_tag(item.origin_reason)),
                *(line._replace(text=escape_outside(line.text)) for line in own),
                WorkLine("note", CLOSING_TAG),
            ]
        marked += [*own, GAP]
    return [*marked, *rest]


def _how_lines(reply: HowReply) -> Iterator[WorkLine]:
    for command in reply.commands:
        yield from _command(command.line)
        where = f"in {command.folder}" if command.folder else ""
        yield _about(_outcomes(command), _count(command.sessions, "session"), _day(command.last_ms), where)
        yield _place(command.citation, command.session)
        yield GAP
    shown = sum(command.status == "failed" for command in reply.commands)
    if not reply.commands:
        if not reply.searched:
            yield WorkLine("note", "no commands of agents are recorded")
            return
        searched = _count(reply.searched, "recorded command")
        yield WorkLine("note", f"no successful run of that command among {searched}")
    if hidden := reply.only_failed - shown:
        are = (
            "invocation only ever failed and isn't"
            if hidden == 1
            else "invocations only ever failed and aren't"
        )
        yield WorkLine("note", f"{hidden:,} {are} shown")


def _fix_lines(reply: FixReply) -> Iterator[WorkLine]:
    for fix in reply.fixes:
        yield WorkLine("code", _cut(fix.error))
        yield WorkLine("about", "failed:", 2)
        yield from _command(fix.command, 4)
        if fix.steps:
            yield WorkLine("about", "what was changed:", 2)
        for step in fix.steps:
            yield from _step(step)
        yield WorkLine("about", _success_of(fix), 2)
        if not fix.is_same_command or not fix.steps:
            yield from _command(fix.fixed_by, 4)
        held = "" if fix.has_held else "the error came back later in the session"
        yield _about(_count(fix.sessions, "session"), held, _day(fix.time_ms))
        yield _place(fix.citation, fix.session)
        yield GAP
    if not reply.fixes:
        searched = _count(reply.searched, "recorded failure")
        yield WorkLine(
            "note",
            f"no fix of this error among {searched}"
            if reply.searched
            else "no failed commands of agents are recorded",
        )
    if reply.unfixed and not reply.fixes:
        yield WorkLine("note", f"{_count(reply.unfixed, 'failure')} with this error, and no success after it")
    if reply.reruns:
        times = "once" if reply.reruns == 1 else f"{reply.reruns} times"
        yield WorkLine("note", f"the same command succeeded {times} without any change: it may be flaky")


def _success_of(fix: Fix) -> str:
    if not fix.is_same_command:
        return "then this succeeded:" if fix.steps else "this succeeded instead:"
    return "then the same command succeeded"


def _step(step: FixStep) -> Iterator[WorkLine]:
    """Yield a step between a failure and its success."""
    if step.action == "ran":
        yield from _command(step.text, 4)
        return
    yield WorkLine("place", f"{step.action} {step.text}", 4)
    for sign, span in (("-", step.old), ("+", step.new)):
        lines = span.rstrip("\n").split("\n") if span.strip() else []
        for line in lines[:MAX_SPAN_LINES]:
            yield WorkLine("code", f"{sign} {_cut(line)}", 6)
        if len(lines) > MAX_SPAN_LINES:
            yield WorkLine("about", f"{sign} {CUT_MARK}", 6)


def _blame_lines(reply: BlameReply) -> Iterator[WorkLine]:
    if reply.matched == "near" and reply.sessions:
        yield WorkLine(
            "note", "no session is recorded that changed this line, but lines near it were changed"
        )
    if reply.matched == "unknown" and reply.sessions:
        yield WorkLine("note", "no session is recorded that changed this line: these touched the file")
    for touch in reply.sessions:
        yield WorkLine("head", f"{_day(touch.time_ms) or 'unknown day'}  {', '.join(touch.actions)}")
        if touch.request:
            yield WorkLine("code", f"requested: {_cut(touch.request, MAX_REQUEST_CHARS)}", 2)
        for decision in touch.decisions:
            yield WorkLine("code", f"decided: {_cut(decision, MAX_REQUEST_CHARS)}", 2)
        yield _place(touch.citation, touch.session)
        yield GAP
    if reply.names and reply.names[0] != reply.file:
        yield WorkLine("place", f"files of that name: {', '.join(reply.names)}")
    elif len(reply.names) > 1:
        yield WorkLine("place", f"earlier names: {', '.join(reply.names[1:])}")
    if not reply.sessions:
        yield WorkLine("place", f"no session is recorded that touched {reply.file}")


def _file_lines(reply: WorkFilesReply) -> Iterator[WorkLine]:
    for file in reply.files:
        yield WorkLine("head", file.file if file.exists else f"{file.file}  (not on disk now)")
        edits = _count(file.edits, "edit") if file.edits else ""
        reads = _count(file.reads, "read") if file.reads else ""
        yield _about(edits, reads, _count(file.sessions, "session"), _day(file.last_ms))
        yield _place(file.citation, file.session)
        yield GAP
    if not reply.files:
        yield WorkLine("note", "no recorded work on that subject touched a file")


def _command(line: str, indent: int = 0) -> Iterator[WorkLine]:
    """Yield the lines of a command."""
    lines = line.strip().split("\n")
    for number, text in enumerate(lines[:MAX_LINES]):
        yield WorkLine("code", f"{'  ' if number else '$ '}{_cut(text)}", indent)
    if len(lines) > MAX_LINES:
        yield WorkLine("about", f"  {CUT_MARK} {len(lines) - MAX_LINES} more lines", indent)


def _outcomes(command: KnownCommand) -> str:
    """Return how often an invocation succeeded and failed; unknown outcomes are marked."""
    parts = (
        ("succeeded", command.succeeded),
        ("failed", command.failed),
        ("outcome unknown", command.unknown),
    )
    return ", ".join(
        f"{name} {'once' if number == 1 else f'{number:,} times'}" for name, number in parts if number
    )


def _place(citation: str, session: SessionInfo | None) -> WorkLine:
    return WorkLine("place", DOT.join(filter(None, (citation, describe_session(session)))), 2)


def _about(*facts: str) -> WorkLine:
    return WorkLine("about", DOT.join(filter(None, facts)), 2)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _day(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat() if time_ms > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _cut(text: str, chars: int = MAX_LINE_CHARS) -> str:
    text = " ".join(text.split()) if chars == MAX_REQUEST_CHARS else text.rstrip()
    return text if len(text) <= chars else f"{text[: chars - 1]}{CUT_MARK}"
