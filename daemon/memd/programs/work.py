"""What an agent did in a session: commands that it ran, files that it read or changed. Pure.

Readers return it on request only. A status is what the program recorded, never a guess from the output. Work of turns
that the user undid is included: it was done.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from memd.programs.fetched import TextSource, hashes_in, source_of, source_of_command, source_of_tool
from memd.programs.spans import GAP, Spans, cut, spans_of, spans_of_diff
from memd.programs.values import text_of
from memd.text.work.errors import ESCAPE, ends_of, error_at, error_lines
from memd.text.work.secrets import redact_command, redact_output, shows_secrets

WorkStatus: TypeAlias = Literal["ok", "failed", "refused", "unknown"]
"""`refused`: the user or a rule refused it; `unknown`: no outcome is recorded, as of commands in the background."""

FileAction: TypeAlias = Literal["read", "edited", "created", "deleted"]

MAX_LINE_CHARS: Final = 4_000
MAX_OUTPUT_BYTES: Final = 1_000
MAX_ERROR_CHARS: Final = 200
MAX_LINES: Final = 40
"""Lines around an error, and last ones, of which those that fit are shown."""

MAX_FETCHES, MAX_HASHES = 20_000, 1_000_000  # of a session; a hash takes some 80 bytes of RAM


class Command(NamedTuple):
    """A command that an agent ran.

    Attributes:
        line: The command line without secrets; it may have several lines.
        folder: The working directory; empty if unknown.
        status: Its outcome.
        exit_code: The exit status, if the program recorded it.
        output: Lines around the error and the last ones, at most 1 kB, without secrets; empty if it succeeded.
        place: Place of the call in the transcript, as in `Message.place`.
        time_ms: When it was called, in milliseconds UTC; None if unknown.
        call: The program's id of the call; empty without one.
    """

    line: str
    folder: str = ""
    status: WorkStatus = "unknown"
    exit_code: int | None = None
    output: str = ""
    place: int = 0
    time_ms: int | None = None
    call: str = ""


class FileChange(NamedTuple):
    """A file that an agent read or changed; `place`, `time_ms` and `call` as in a `Command`.

    Attributes:
        path: Its path: absolute if the folder is known.
        action: What was done; writing is `edited` if the program doesn't record that the file is new.
        status: Whether it was done.
        old: What an edit replaced, at most 2 kB without secrets; a line `…` is between two changes.
        new: What it wrote instead, alike; of a written file without an earlier version the beginning.
    """

    path: str
    action: FileAction
    status: WorkStatus = "unknown"
    place: int = 0
    time_ms: int | None = None
    call: str = ""
    old: str = ""
    new: str = ""


Step: TypeAlias = Command | FileChange


class Fetch(NamedTuple):
    """A text that a session read, at the place and time of the call; `what` describes it without text of memory."""

    place: int
    time_ms: int | None
    origin: int
    what: str
    shingles: frozenset[int]


TOOLS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ACTIONS: Final[dict[str, FileAction]] = {
    name: action for action, names in TOOLS["files"].items() for name in names
}
_LAUNCHER = re.compile(r"-l?c|-Command|/[cC]")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: *(\S.*)$(?:\n\*\*\* Move to: *(\S.*)$)?", re.M)
_PATCH_COMMAND = re.compile(r"\s*(?:cd\s+(\S+)\s*&&\s*)?apply_?patch\b[^\n]*\n?\s*\*\*\* Begin Patch")
_PATCH_ACTIONS: Final[dict[str, FileAction]] = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:[\\/]")
_EXIT = re.compile(
    r"^\(?(?:Process exited with code|Exit [Cc]ode:?|Command exited with code) (-?\d{1,10})\)?$", re.M
)
_CUT = re.compile(r"^\.\.\. \[\d+ characters truncated\] \.\.\.$|\AOutput too large to read at once.*", re.M)
"""What Claude Code and Copilot write into a long output whose end they drop."""


class WorkLog:
    """Calls of tools in order, matched with their results by the ids of the calls.

    Attributes:
        steps: What the calls did.
        fetches: The texts that they returned, in the order of the results.
        folder: The working directory of calls that name none.
        sources: By call, whose text its result is, its place and time.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.fetches: list[Fetch] = []
        self.folder = ""
        self.sources: dict[object, tuple[TextSource | None, int, int | None]] = {}
        self._hashes = 0
        self._calls: dict[object, range] = {}
        self._final: set[object] = set()

    def __contains__(self, call: object) -> bool:
        return text_of(call) in self._calls

    def clear(self) -> None:
        """Forget all calls but not what was read: they were copied from another session."""
        self.steps.clear()
        self._calls.clear()

    def call(self, tool: object, arguments: object, place: int, *, call: object, time_ms: int | None) -> None:
        """Add a call of a tool; of several calls with one id, later results belong to the last."""
        first, call, tool = len(self.steps), text_of(call), text_of(tool)
        arguments = arguments if isinstance(arguments, dict) else {"input": arguments}
        steps = list(_steps_of(tool, arguments, self.folder))
        self.steps += [step._replace(place=place, time_ms=time_ms, call=call) for step in steps]
        match steps[:1]:
            case [Command(line=line)]:
                source = source_of_command(line, self.folder)
            case [FileChange(path=path, action="read")]:
                source = source_of("files", path, self.folder)
            case _:  # what is changed isn't read
                source = None if steps or tool in _ACTIONS else source_of_tool(tool, arguments)
        self.sources[call] = source, place, time_ms
        self._calls[call] = range(first if call else 0, len(self.steps) if call else 0)
        self._final.discard(call)

    def read(self, source: TextSource | None, content: object, place: int, time_ms: int | None) -> None:
        """Add a text that the session read, or several in a JSON value, if any counts."""
        if source is not None and len(self.fetches) < MAX_FETCHES and self._hashes < MAX_HASHES:
            fetch = Fetch(place, time_ms, *source, hashes_in(source, content))
            if fetch.shingles and fetch not in self.fetches[-10:]:  # a program may record a result twice
                self.fetches.append(fetch)
                self._hashes += len(fetch.shingles)

    def result(
        self,
        call: object,
        status: WorkStatus,
        output: object = "",
        *,
        exit_code: object = None,
        folder: str = "",
        is_new: bool = False,
        is_final: bool = False,
        diff: Iterable[str] = (),
    ) -> None:
        """Add the result of a call.

        Args:
            call: The id of the call.
            status: Its outcome; a command whose exit status isn't zero failed, unless it was refused.
            output: What the tool returned, without the frame that a program adds; JSON of any form.
            exit_code: The exit status; anything but an integer is unknown.
            folder: The working directory, if it is recorded with the result.
            is_new: Whether a written file is recorded as new.
            is_final: Whether later results of the call are ignored.
            diff: Lines of the diff of a changed file, if the call doesn't tell what it replaced.
        """
        call = text_of(call)
        source, place, time_ms = self.sources.get(call, (None, 0, None))
        if call and status != "refused" and call not in self._final:
            self.read(source, output, place, time_ms)
        code = exit_code if isinstance(exit_code, int) and not isinstance(exit_code, bool) else None
        status = "failed" if code and status != "refused" else status
        numbers = self._calls.get(call, range(0)) if call not in self._final else range(0)
        for number in numbers:
            step = self.steps[number]
            if isinstance(step, FileChange):
                action = "created" if is_new and step.action == "edited" else step.action
                has_diff = bool(diff) and len(numbers) == 1 and action in ("edited", "created")
                old, new = spans_of_diff(step.path, diff) if has_diff else (step.old, step.new)
                self.steps[number] = step._replace(status=status, action=action, old=old, new=new)
            else:
                said = "" if status in ("ok", "refused") else _excerpt(step.line, text_of(output))
                folder = folder or step.folder
                self.steps[number] = step._replace(folder=folder, status=status, exit_code=code, output=said)
        if is_final:
            self._final.add(call)


class WorkReader:
    """A `TranscriptReader` that can return what the agent did: it fills in `work` unless that is None."""

    work: WorkLog | None = None


def exit_code_in(frame: str) -> int | None:
    """Return the last exit status in a text that a program adds to an output."""
    codes = _EXIT.findall(frame)
    return int(codes[-1]) if codes else None


def located(steps: Iterable[Step], folder: str) -> list[Step]:
    """Return steps with the folder of their session, where they have none."""
    return [
        step._replace(folder=step.folder or folder)
        if isinstance(step, Command)
        else step._replace(path=_joined(folder, step.path))
        for step in steps
    ]


def error_line(output: str) -> str:
    """Return the line of an output that names the error, else its last line."""
    lines = error_lines(output, is_failed=True)
    return lines[0][:MAX_ERROR_CHARS] if lines else ""


def _steps_of(tool: str, arguments: dict[str, Any], folder: str) -> Iterator[Step]:
    """Yield what a call of a tool does."""

    def argument(name: str) -> Any:
        return next((arguments[key] for key in TOOLS["arguments"][name] if arguments.get(key)), "")

    folder, is_patch = text_of(argument("folder")) or folder, tool in TOOLS["patches"]
    if tool in TOOLS["commands"]:
        line = _command_line(argument("line"))
        if (patch := _PATCH_COMMAND.match(line[:MAX_LINE_CHARS])) is not None:
            folder, is_patch = _joined(folder, patch[1] or "."), True
        elif line.strip():
            yield Command(redact_command(cut(line, MAX_LINE_CHARS) or GAP)[0][:MAX_LINE_CHARS], folder)
    elif (action := _ACTIONS.get(tool)) is not None and (path := text_of(argument("path"))):
        old, new = _spans(path, arguments) if action in ("edited", "created") else ("", "")
        yield FileChange(_joined(folder, path), action, old=old, new=new)
    if is_patch:
        yield from _patched(text_of(argument("patch")), folder)


def _spans(path: str, arguments: dict[str, Any]) -> Spans:
    """Return what the arguments of an edit replace, and with what."""

    def text(edit: dict[str, Any], name: str) -> str:
        return next(filter(None, (text_of(edit.get(key)) for key in TOOLS["arguments"][name])), "")

    edits = arguments.get("edits")
    rows = [row for row in [arguments, *(edits if isinstance(edits, list) else [])] if isinstance(row, dict)]
    return spans_of(path, [(text(row, "old"), text(row, "new")) for row in rows])


def _patched(patch: str, folder: str) -> Iterator[FileChange]:
    """Yield the files that a patch changes, each with its lines up to the next one."""
    headings = list(_PATCHED.finditer(patch))
    ends = [*(heading.start() for heading in headings[1:]), len(patch)]
    for heading, end in zip(headings, ends, strict=True):
        verb, path, moved = (text_of(part).strip() for part in heading.groups())
        old, new = spans_of_diff(path, patch[heading.end() : end].split("\n"))
        yield FileChange(_joined(folder, path), _PATCH_ACTIONS[verb], old=old, new=new)
        if moved:
            yield FileChange(_joined(folder, path), "deleted")
            yield FileChange(_joined(folder, moved), "created")


def _command_line(command: object) -> str:
    """Return a command line from a text, or from its words without the shell that runs it."""
    if not isinstance(command, list):
        return text_of(command)
    words = [text_of(word) for word in command]
    return words[2] if len(words) == 3 and _LAUNCHER.fullmatch(words[1]) else shlex.join(words)


def _joined(folder: str, path: str) -> str:
    return path if _ABSOLUTE.match(path) or not folder else posixpath.normpath(posixpath.join(folder, path))


def _excerpt(command: str, output: str) -> str:
    """Return the lines of an output around its error, and its last ones."""
    output = ends_of(output, GAP)
    if shows_secrets(command, output):  # only other lines tell that a line is a secret
        output = redact_output(command, output)[0]
    output, cuts = _CUT.subn("", output)
    lines = [line for line in ESCAPE.sub("", output).splitlines() if line and not line.isspace()]
    at = error_at(lines, is_failed=not cuts)
    if at is None:  # the last line of a cut output is no error: all with the same beginning would share it
        return ""
    first = max(0, at - 1)
    last = max(first + MAX_LINES, len(lines) - MAX_LINES)
    ends = [*lines[first : first + MAX_LINES], *lines[last:]]
    text = "\n".join(cut(line.rstrip(), MAX_ERROR_CHARS) or GAP for line in ends)
    shown = redact_output(command, text)[0].split("\n")
    head = _fitting(shown[:MAX_LINES], MAX_OUTPUT_BYTES * 3 // 5)
    rest = shown[len(head) :]
    tail = _fitting(rest[::-1], MAX_OUTPUT_BYTES * 2 // 5 - 5)[::-1]
    has_gap = len(tail) < len(rest) or last > first + MAX_LINES
    return "\n".join([*head, *([GAP] if has_gap else []), *tail])


def _fitting(lines: list[str], most_bytes: int) -> list[str]:
    """Return the first lines that fit."""
    for count, line in enumerate(lines):
        most_bytes -= len(line.encode("utf-8", "replace")) + 1
        if most_bytes < 0:
            return lines[:count]
    return lines
