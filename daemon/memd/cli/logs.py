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
from typing import Protocol

import click

from memd.cli.arguments import MAX_LOG_LINES, Choice, examples
from memd.cli.connect import Session
from memd.cli.lines import Line, Piece, line, printable
from memd.service.install.unit_names import SERVICE
from memd.system.state_file import open_regular
from memd_client.discovery import log_path
from memd_client.errors import LogUnavailableError

LEVELS = ("debug", "info", "warning", "error", "critical")
STYLE_OF_LEVEL = {"debug": "quiet", "info": "good", "warning": "warn", "error": "bad", "critical": "bad"}

TIME_WIDTH = 21
"""Columns: `2026-11-22 04:12:33` and two of air."""

BODY_INDENT = 4
"""Columns before the lines of a traceback."""

SYSLOG_LEVELS = ("critical", "critical", "critical", "error", "warning", "info", "info", "debug")
"""Levels of the journal's priorities, 0 to 7."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log.

    `facts` are what an event has beside its time, level and name. A line that is no event, such as one of a
    traceback, has only its `text`, and neither time nor level.
    """

    text: str
    event: str = ""
    level: str = ""
    time: str = ""
    facts: Mapping[str, object] | None = None

    def is_at_least(self, level: str) -> bool:
        """Return whether a reader of this level wants it; what has no level may be a traceback and is wanted always."""
        return self.level not in LEVELS or LEVELS.index(self.level) >= LEVELS.index(level)

    def as_document(self) -> dict[str, object]:
        """Return it as a value for JSON, with the keys of the log itself."""
        if self.facts is None:
            moment: dict[str, object] = {"timestamp": self.time, "level": self.level} if self.time else {}
            return moment | {"text": self.text}
        return {"timestamp": self.time, "level": self.level, "event": self.event, **self.facts}


def parse_record(text: str) -> Record:
    """Return a line of a log file as a record; whatever it holds."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Record(text)
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        return Record(text)
    facts = {name: value for name, value in found.items() if name not in ("event", "level", "timestamp")}
    level, time = found.get("level", ""), found.get("timestamp", "")
    return Record(text, found["event"], str(level), str(time), facts)


def parse_journal(text: str) -> Record | None:
    """Return an entry of the journal, as its JSON output has it, as a record; None for what is no entry.

    The daemon's own lines are events; the rest is what the service manager says of it.
    """
    try:
        entry = json.loads(text)
        message = entry["MESSAGE"]
        if isinstance(message, list):  # bytes that are not UTF-8
            message = bytes(message).decode("utf-8", "replace")
        record = parse_record(message)
        if record.facts is not None or entry.get("_COMM") != "systemd":
            return record
        moment = datetime.fromtimestamp(int(entry["__REALTIME_TIMESTAMP"]) / 1e6).astimezone()
        return Record(message, "", SYSLOG_LEVELS[int(entry.get("PRIORITY", 6))], moment.isoformat())
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


def journal_cursor(text: str) -> str:
    """Return the place of an entry in the journal, from which following goes on; empty where it has none."""
    try:
        return str(json.loads(text)["__CURSOR"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def record_lines(record: Record, local: Callable[[datetime], datetime] = datetime.astimezone) -> list[Line]:
    """Return a record as lines: time, level, event and facts; a traceback below it."""
    if record.facts is None and not record.time:
        return [line((record.text, "quiet"))]
    head = (_shown_time(record.time, local), "label")
    pieces: list[Piece] = [(f"{record.level:<9}", STYLE_OF_LEVEL.get(record.level, "quiet"))]
    if record.facts is None:
        return [Line((*pieces, record.text), TIME_WIDTH, head)]
    pieces.append((record.event, "title"))
    below: list[Line] = []
    for name, value in record.facts.items():
        if isinstance(value, str) and "\n" in value:
            below += [line((each, "quiet"), indent=BODY_INDENT) for each in value.splitlines()]
        elif value not in (None, ""):
            pieces += [(f"  {name}=", "quiet"), _fact_text(value)]
    return [Line(tuple(pieces), TIME_WIDTH, head), *below]


def _fact_text(value: object) -> str:
    """Return a fact as text: words with space between them stand in quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if not value or any(map(str.isspace, value)) else value
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def _shown_time(text: str, local: Callable[[datetime], datetime]) -> str:
    """Return a moment in the reader's time, to the second; as it came where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text[:TIME_WIDTH]
    return local(moment).strftime("%Y-%m-%d %H:%M:%S")


LOG_FILES = 3
"""The log and its rotated files, `.1` and `.2`, as the daemon keeps them."""

POLL_S = 0.2
"""Wait between two looks at a file that is followed."""

LAST_OF_JOURNAL = 20_000
"""Entries of the journal that are looked through for those of a level."""

Wanted = Callable[[Record], bool]


class LogSource(Protocol):
    """Somewhere the log is."""

    def last(self, number: int, wanted: Wanted) -> list[Record]:
        """Return the last records that are wanted, oldest first."""

    def follow(self, wanted: Wanted, wait: Callable[[float], None]) -> Iterator[Record]:
        """Yield the records that come after those of `last`, for ever."""


class FileLog:
    """The log as files of its own."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read_to: tuple[os.stat_result, int] | None = None

    def last(self, number: int, wanted: Wanted) -> list[Record]:
        """Return the last records that are wanted, from as many of the files as it takes."""
        found: deque[Record] = deque()
        for place in range(LOG_FILES):
            name = f"{self.path}.{place}" if place else self.path
            with contextlib.suppress(FileNotFoundError), open_regular(name) as file:
                octets = file.read()
                if place == 0:
                    whole = octets.rfind(b"\n") + 1  # half a line is told when its end is there
                    self._read_to, octets = (os.fstat(file.fileno()), whole), octets[:whole]
                for text in reversed(_split_lines(octets)):
                    if len(found) >= number:
                        return list(found)
                    record = parse_record(text)
                    if wanted(record):
                        found.appendleft(record)
        return list(found)

    def follow(self, wanted: Wanted, wait: Callable[[float], None]) -> Iterator[Record]:
        """Yield what is appended after `last`, across rotation and while there is no file."""
        facts, start = self._read_to or (None, 0)
        rest = b""
        while True:
            try:
                file = open_regular(self.path)
            except FileNotFoundError:
                wait(POLL_S)
                continue
            with file:
                identity = os.fstat(file.fileno())
                if facts is not None and not os.path.samestat(facts, identity):
                    yield from self._rest_of(facts, start, rest, wanted)
                    start, rest = 0, b""
                file.seek(start)
                while True:
                    is_current = self._is_current(
                        identity
                    )  # before reading: what was written till then is read
                    octets = file.read()
                    start += len(octets)
                    whole, _, rest = (rest + octets).rpartition(b"\n")
                    yield from filter(wanted, map(parse_record, _split_lines(whole)))
                    if os.fstat(file.fileno()).st_size < start:  # emptied by hand
                        start, rest = 0, b""
                        file.seek(0)
                    elif not is_current:
                        break
                    elif not octets:
                        wait(POLL_S)
            facts, start, rest = None, 0, b""

    def _is_current(self, identity: os.stat_result) -> bool:
        """Return whether the path still names the file that is read."""
        try:
            return os.path.samestat(identity, os.stat(self.path))
        except OSError:
            return False

    def _rest_of(self, facts: os.stat_result, start: int, rest: bytes, wanted: Wanted) -> Iterator[Record]:
        """Yield what was still written to a file that has been rotated away since it was read."""
        with contextlib.suppress(OSError), open_regular(f"{self.path}.1") as file:
            if os.path.samestat(facts, os.fstat(file.fileno())):
                file.seek(start)
                yield from filter(wanted, map(parse_record, _split_lines(rest + file.read())))


class JournalLog:
    """The log as the journal keeps it for the service."""

    def __init__(self, program: str) -> None:
        self._command = [program, "--user", "--unit", SERVICE, "--output", "json", "--no-pager", "--quiet"]
        self._cursor = ""

    def last(self, number: int, wanted: Wanted) -> list[Record]:
        """Return the last entries that are wanted."""
        done = subprocess.run(
            [*self._command, "--lines", str(max(number, LAST_OF_JOURNAL))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip()
            raise LogUnavailableError(f"journalctl ended with {done.returncode}: {why}")
        lines = _split_lines(done.stdout)
        self._cursor = journal_cursor(lines[-1]) if lines else ""
        entries = filter(None, map(parse_journal, lines))
        return list(deque(filter(wanted, entries), maxlen=number))

    def follow(self, wanted: Wanted, wait: Callable[[float], None]) -> Iterator[Record]:
        """Yield what comes, for as long as the journal tells."""
        start = ["--after-cursor", self._cursor, "--no-tail"] if self._cursor else ["--lines", "0"]
        command = [*self._command, "--follow", *start]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                for octets in process.stdout:
                    record = parse_journal(octets.decode("utf-8", "replace"))
                    if record is not None and wanted(record):
                        yield record
            finally:
                process.terminate()


def _split_lines(octets: bytes) -> list[str]:
    """Return lines of a file as text; a line ends with a newline and nothing else."""
    return [text for text in octets.decode("utf-8", "replace").split("\n") if text]


def find_log(socket: str, *, has_unit: bool, agent_log: str = "", processes: str = "/proc") -> LogSource:
    """Return where the log of the daemon on a socket is.

    A daemon that runs is asked of the system where its standard error leads; else it is the journal where a service is
    installed, and the file beside the socket where there is none.
    """
    leads_to = _standard_error(socket, processes)
    if leads_to.startswith("/") and not leads_to.startswith("/dev/"):
        return FileLog(leads_to)
    journal = shutil.which("journalctl")
    if journal is not None and (leads_to.startswith("socket:") or (has_unit and not leads_to)):
        return JournalLog(journal)
    if leads_to:
        raise LogUnavailableError(
            f"the daemon's log goes to {leads_to}", hint="Read it where the daemon was started."
        )
    path = agent_log or log_path(socket)
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise LogUnavailableError(f"there is no log {path}: {error.strerror}") from None
    if not is_file:
        raise LogUnavailableError(f"{path} is not a file")
    return FileLog(path)


def _standard_error(socket: str, processes: str) -> str:
    """Return where the standard error of the daemon that runs leads; empty where none runs or nobody tells."""
    try:
        with open_regular(f"{socket}.lock") as file:
            pid = int(file.read(32))
        with open(f"{processes}/{pid}/cmdline", "rb") as file:
            if b"memd" not in file.read():  # the number was given to another process since
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
    help="How many of the last lines.",
)
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--level", type=Choice(LEVELS[:4]), default="debug", help="Only what is at least this serious.")
@click.option("as_json", "--json", is_flag=True, help="Print each line as a JSON object of its own.")
@click.pass_obj
def command(session: Session, number: int, follow: bool, level: str, as_json: bool) -> None:
    """Show the daemon's log.

    It is read from the journal where systemd runs the daemon, else from the files beside its socket. Lines that
    are no events, such as a traceback, are shown at every level. No daemon is started for this.
    """
    from memd.cli.checks.installation import find_launchd_log, has_systemd_unit
    from memd_client.discovery import home_directory, socket_path

    source = find_log(
        socket_path(), has_unit=has_systemd_unit(), agent_log=find_launchd_log(Path(home_directory()))
    )

    def is_wanted(record: Record) -> bool:
        return record.is_at_least(level)

    records = source.last(number, is_wanted)
    for record in records:
        _show(session, record, as_json=as_json)
    if number and not records and not follow:
        session.output.note(f"the log has no line of level {level} or above")
    if follow:
        for record in source.follow(is_wanted, _wait):
            _show(session, record, as_json=as_json)


def _wait(seconds: float) -> None:
    """Wait for a moment, in which Ctrl-C is heard."""
    threading.Event().wait(seconds)


def _show(session: Session, record: Record, *, as_json: bool) -> None:
    if as_json:
        session.output.out.write(json.dumps(record.as_document()) + "\n")
    else:
        session.output.lines(record_lines(record))
