"""Where the daemon's log is, its last lines, and the lines that come."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from memd.cli.log_records import Record, journal_cursor, parse_journal, parse_line
from memd.service.install.unit_names import SERVICE
from memd.system.state_file import open_regular
from memd_client.discovery import log_path
from memd_client.errors import LogUnavailableError

FILES = 3
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
        for place in range(FILES):
            name = f"{self.path}.{place}" if place else self.path
            with contextlib.suppress(FileNotFoundError), open_regular(name) as file:
                octets = file.read()
                if place == 0:
                    whole = octets.rfind(b"\n") + 1  # half a line is told when its end is there
                    self._read_to, octets = (os.fstat(file.fileno()), whole), octets[:whole]
                for text in reversed(_lines(octets)):
                    if len(found) >= number:
                        return list(found)
                    record = parse_line(text)
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
                    yield from filter(wanted, map(parse_line, _lines(whole)))
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
                yield from filter(wanted, map(parse_line, _lines(rest + file.read())))


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
        lines = _lines(done.stdout)
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


def _lines(octets: bytes) -> list[str]:
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
