"""`memctl logs`: the daemon's log, from the journal or its files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from memd.cli.arguments import MAX_LOG_LINES, ArgumentChoice, examples
from memd.cli.connect import CliSession
from memd.cli.lines import Line, Piece, line, printable
from memd.service.install.unit_names import unit_names
from memd.system.state_file import open_regular
from memd_client.discovery import log_path
from memd_client.errors import LogUnavailableError
from memd_client.state_folder import USUAL_NAME, daemon_name

LEVELS = ("debug", "info", "warning", "error", "critical")
STYLE_OF_LEVEL = {"debug": "quiet", "info": "good", "warning": "warn", "error": "bad", "critical": "bad"}

TIME_WIDTH = 21
"""Columns: `2026-11-22 04:12:33` and two of space."""

BODY_INDENT = 4
"""Columns before the lines of a traceback."""

SYSLOG_LEVELS = ("critical", "critical", "critical", "error", "warning", "info", "info", "debug")
"""Levels by the journal's priority, 0 to 7."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One line of the log.

    `fields` are an event's values besides time, level and name. A line that is not an event, such as a line of a
    traceback, has only its `text`.
    """

    text: str
    event: str = ""
    level: str = ""
    time: str = ""
    fields: Mapping[str, object] | None = None

    def is_at_least(self, level: str) -> bool:
        """Return whether the record has this level or above; true without a level, as it may be a traceback."""
        return self.level not in LEVELS or LEVELS.index(self.level) >= LEVELS.index(level)

    def as_document(self) -> dict[str, object]:
        """Return the record as a value for JSON, with the keys of the log."""
        if self.fields is None:
            moment: dict[str, object] = {"timestamp": self.time, "level": self.level} if self.time else {}
            return moment | {"text": self.text}
        return {"timestamp": self.time, "level": self.level, "event": self.event, **self.fields}


def parse_record(text: str) -> LogRecord:
    """Return a line of a log file as a record; any text is accepted."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return LogRecord(text)
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        return LogRecord(text)
    fields = {name: value for name, value in found.items() if name not in ("event", "level", "timestamp")}
    level, time = found.get("level", ""), found.get("timestamp", "")
    return LogRecord(text, found["event"], str(level), str(time), fields)


def parse_journal(text: str) -> LogRecord | None:
    """Return an entry of the journal's JSON output as a record; None if it is not an entry.

    The daemon's own lines are events; the others are messages of the service manager.
    """
    try:
        entry = json.loads(text)
        message = entry["MESSAGE"]
        if isinstance(message, list):  # bytes that are not UTF-8
            message = bytes(message).decode("utf-8", "replace")
        record = parse_record(message)
        if record.fields is not None or entry.get("_COMM") != "systemd":
            return record
        moment = datetime.fromtimestamp(int(entry["__REALTIME_TIMESTAMP"]) / 1e6).astimezone()
        return LogRecord(message, "", SYSLOG_LEVELS[int(entry.get("PRIORITY", 6))], moment.isoformat())
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


def journal_cursor(text: str) -> str:
    """Return the cursor of a journal entry, from which to follow; empty if it has none."""
    try:
        return str(json.loads(text)["__CURSOR"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def record_lines(
    record: LogRecord, local: Callable[[datetime], datetime] = datetime.astimezone
) -> list[Line]:
    """Return a record as lines: time, level, event and fields; a traceback below."""
    if record.fields is None and not record.time:
        return [line((record.text, "quiet"))]
    head = (_shown_time(record.time, local), "label")
    pieces: list[Piece] = [(f"{record.level:<9}", STYLE_OF_LEVEL.get(record.level, "quiet"))]
    if record.fields is None:
        return [Line((*pieces, record.text), TIME_WIDTH, head)]
    pieces.append((record.event, "title"))
    below: list[Line] = []
    for name, value in record.fields.items():
        if isinstance(value, str) and "\n" in value:
            below += [line((each, "quiet"), indent=BODY_INDENT) for each in value.splitlines()]
        elif value not in (None, ""):
            pieces += [(f"  {name}=", "quiet"), _field_text(value)]
    return [Line(tuple(pieces), TIME_WIDTH, head), *below]


def _field_text(value: object) -> str:
    """Return the value of a field as text; in quotes if it has white space."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if not value or any(map(str.isspace, value)) else value
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def _shown_time(text: str, local: Callable[[datetime], datetime]) -> str:
    """Return a time in the local zone, to the second; unchanged if it is not a time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text[:TIME_WIDTH]
    return local(moment).strftime("%Y-%m-%d %H:%M:%S")


LOG_FILES = 3
"""The log and its rotated files, `.1` and `.2`."""

POLL_S = 0.2
"""Interval between two reads of a followed file."""

MAX_JOURNAL_ENTRIES = 20_000
"""Entries of the journal that are filtered by level."""

RecordFilter = Callable[[LogRecord], bool]


class FileLog:
    """The log in files."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read_to: tuple[os.stat_result, int] | None = None

    def last(self, number: int, matches: RecordFilter) -> list[LogRecord]:
        """Return the last matching records, also from rotated files."""
        found: deque[LogRecord] = deque()
        for place in range(LOG_FILES):
            name = f"{self.path}.{place}" if place else self.path
            with contextlib.suppress(FileNotFoundError), open_regular(name) as file:
                octets = file.read()
                if place == 0:
                    whole = octets.rfind(b"\n") + 1  # an unfinished line is shown once it is complete
                    self._read_to, octets = (os.fstat(file.fileno()), whole), octets[:whole]
                for text in reversed(_split_lines(octets)):
                    if len(found) >= number:
                        return list(found)
                    record = parse_record(text)
                    if matches(record):
                        found.appendleft(record)
        return list(found)

    def follow(self, matches: RecordFilter, wait: Callable[[float], None]) -> Iterator[LogRecord]:
        """Yield records appended after `last`, across rotation and while there is no file."""
        stat_before, start = self._read_to or (None, 0)
        rest = b""
        while True:
            try:
                file = open_regular(self.path)
            except FileNotFoundError:
                wait(POLL_S)
                continue
            with file:
                identity = os.fstat(file.fileno())
                if stat_before is not None and not os.path.samestat(stat_before, identity):
                    yield from self._rest_of(stat_before, start, rest, matches)
                    start, rest = 0, b""
                file.seek(start)
                while True:
                    is_current = self._is_current(
                        identity
                    )  # checked before reading, so that no line is missed
                    octets = file.read()
                    start += len(octets)
                    whole, _, rest = (rest + octets).rpartition(b"\n")
                    yield from filter(matches, map(parse_record, _split_lines(whole)))
                    if os.fstat(file.fileno()).st_size < start:  # truncated by a user
                        start, rest = 0, b""
                        file.seek(0)
                    elif not is_current:
                        break
                    elif not octets:
                        wait(POLL_S)
            stat_before, start, rest = None, 0, b""

    def _is_current(self, identity: os.stat_result) -> bool:
        """Return whether the path still names the open file."""
        try:
            return os.path.samestat(identity, os.stat(self.path))
        except OSError:
            return False

    def _rest_of(
        self, identity: os.stat_result, start: int, rest: bytes, matches: RecordFilter
    ) -> Iterator[LogRecord]:
        """Yield the last records of a file that was rotated since it was read."""
        with contextlib.suppress(OSError), open_regular(f"{self.path}.1") as file:
            if os.path.samestat(identity, os.fstat(file.fileno())):
                file.seek(start)
                yield from filter(matches, map(parse_record, _split_lines(rest + file.read())))


class JournalLog:
    """The log of a systemd service in the journal."""

    def __init__(self, program: str, unit: str) -> None:
        self._command = [program, "--user", "--unit", unit, "--output", "json", "--no-pager", "--quiet"]
        self._cursor = ""

    def last(self, number: int, matches: RecordFilter) -> list[LogRecord]:
        """Return the last matching entries."""
        done = subprocess.run(
            [*self._command, "--lines", str(max(number, MAX_JOURNAL_ENTRIES))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip()
            raise LogUnavailableError(f"journalctl failed with exit code {done.returncode}: {why}")
        lines = _split_lines(done.stdout)
        self._cursor = journal_cursor(lines[-1]) if lines else ""
        entries = filter(None, map(parse_journal, lines))
        return list(deque(filter(matches, entries), maxlen=number))

    def follow(self, matches: RecordFilter, wait: Callable[[float], None]) -> Iterator[LogRecord]:
        """Yield new matching entries until journalctl ends."""
        start = ["--after-cursor", self._cursor, "--no-tail"] if self._cursor else ["--lines", "0"]
        command = [*self._command, "--follow", *start]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                for octets in process.stdout:
                    record = parse_journal(octets.decode("utf-8", "replace"))
                    if record is not None and matches(record):
                        yield record
            finally:
                process.terminate()


def _split_lines(octets: bytes) -> list[str]:
    """Return lines of a file as text, separated by newlines only."""
    return [text for text in octets.decode("utf-8", "replace").split("\n") if text]


def find_log(
    socket: str, *, has_unit: bool, name: str = USUAL_NAME, agent_log: str = "", processes: str = "/proc"
) -> FileLog | JournalLog:
    """Return the log of the daemon with a name on a socket.

    For a running daemon, the target of its standard error; else the journal if a service is installed, or the file next
    to the socket.
    """
    target = _standard_error(socket, processes)
    if target.startswith("/") and not target.startswith("/dev/"):
        return FileLog(target)
    journal = shutil.which("journalctl")
    if journal is not None and (target.startswith("socket:") or (has_unit and not target)):
        return JournalLog(journal, unit_names(name)[1])
    if target:
        raise LogUnavailableError(
            f"the daemon writes its log to {target}", hint="read it in the terminal that started the daemon"
        )
    path = agent_log or log_path(socket)
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise LogUnavailableError(f"cannot read the log {path}: {error.strerror}") from None
    if not is_file:
        raise LogUnavailableError(f"{path} is not a file")
    return FileLog(path)


def _standard_error(socket: str, processes: str) -> str:
    """Return the target of the running daemon's standard error; empty if unknown or not running."""
    try:
        with open_regular(f"{socket}.lock") as file:
            pid = int(file.read(32))
        with open(f"{processes}/{pid}/cmdline", "rb") as file:
            if b"memd" not in file.read():  # the pid belongs to another process now
                return ""
        return os.readlink(f"{processes}/{pid}/fd/2").removesuffix(" (deleted)")
    except (OSError, ValueError):
        return ""


@click.command(
    "logs",
    epilog=examples(
        "memctl logs",
        "memctl logs -n 20 --level warning",
        "memctl logs --follow",
        "memctl logs --json | jq .event",
    ),
)
@click.option(
    "number",
    "-n",
    "--lines",
    type=click.IntRange(0, MAX_LOG_LINES),
    default=100,
    show_default=True,
    metavar="N",
    help="Number of lines.",
)
@click.option("--follow", "-f", is_flag=True, help="Follow new lines until Ctrl-C.")
@click.option(
    "--level", type=ArgumentChoice(LEVELS[:4]), default="debug", help="Only events of this level or above."
)
@click.option("as_json", "--json", is_flag=True, help="Print each line as a JSON object.")
@click.pass_obj
def command(session: CliSession, number: int, follow: bool, level: str, as_json: bool) -> None:
    """Show the daemon's log.

    Reads the journal if systemd runs the daemon, else the files next to the socket. Lines that are not events, such as
    tracebacks, are shown at every level. This does not start the daemon.
    """
    is_empty = True
    for record in load_records(number, follow=follow, level=level):
        is_empty = False
        if as_json:
            session.output.out.write(json.dumps(record.as_document()) + "\n")
        else:
            session.output.lines(record_lines(record))
    if number and is_empty and not follow:
        session.output.note(f"no lines of level {level} or above in the log")


def load_records(number: int, *, follow: bool, level: str = "debug") -> Iterator[LogRecord]:
    """Yield the last records of the daemon's log, then new ones until Ctrl-C if the log is followed."""
    from memd.service.checks.service_files import find_launchd_log, has_systemd_unit
    from memd_client.discovery import home_directory, socket_path

    def has_level(record: LogRecord) -> bool:
        return record.is_at_least(level)

    home = home_directory()
    name = daemon_name(os.environ, lambda: home)
    agent_log = find_launchd_log(Path(home), name)
    log = find_log(socket_path(), has_unit=has_systemd_unit(), name=name, agent_log=agent_log)
    yield from log.last(number, has_level)
    if follow:
        yield from log.follow(has_level, _wait)


def _wait(seconds: float) -> None:
    """Wait; Ctrl-C interrupts."""
    threading.Event().wait(seconds)
