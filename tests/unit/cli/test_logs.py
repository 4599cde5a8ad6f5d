"""`memctl logs`: sources of the log, filters, format, and following across rotation."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memd.cli.logs import FileLog, JournalLog, LogRecord, find_log, parse_journal, parse_record, record_lines
from memd.service.logfile import LogStream
from memd_client.errors import LogUnavailableError
from tests.unit.cli.memctl_runner import memctl


def event(name: str, level: str = "info", **facts: object) -> str:
    """Return a line in the format of the daemon."""
    moment = {"level": level, "timestamp": "2026-11-22T04:12:33.123456Z"}
    return json.dumps({**facts, "event": name, **moment})


def everything(_: LogRecord) -> bool:
    """Match every record."""
    return True


def shown(text: str) -> list[str]:
    """Return a line of the log formatted in UTC."""
    lines = record_lines(parse_record(text), lambda moment: moment.astimezone(UTC))
    return [
        "|".join(
            piece if isinstance(piece, str) else piece[0]
            for piece in ((each.head,) if each.head else ()) + each.pieces
        )
        for each in lines
    ]


def test_event_is_shown_with_time_level_name_and_fields() -> None:
    text = event("agent.closed", "error", agent="main", reason="no room left", pid=4, nothing=None)

    assert shown(text) == [
        '2026-11-22 04:12:33|error    |agent.closed|  agent=|main|  reason=|"no room left"|  pid=|4'
    ]


def test_traceback_is_shown_below_its_event() -> None:
    text = event("agent.crashed", "error", exception="Traceback:\n  line 1\nValueError")

    assert shown(text) == [
        "2026-11-22 04:12:33|error    |agent.crashed",
        "Traceback:",
        "  line 1",
        "ValueError",
    ]


@pytest.mark.parametrize(
    "text", ["Traceback (most recent call last):", "[1, 2]", '{"event": 3}', "{", "[" * 100_000]
)
def test_other_lines_are_shown_unchanged_at_every_level(text: str) -> None:
    record = parse_record(text)

    assert shown(text) == [text]
    assert record.is_at_least("error")
    assert record.as_document() == {"text": text}


def test_level_filters_less_severe_events() -> None:
    levels = ["debug", "info", "warning", "error", "critical"]

    wanted = [level for level in levels if parse_record(event("x", level)).is_at_least("warning")]

    assert wanted == ["warning", "error", "critical"]


def _journal(message: object, **fields: object) -> str:
    return json.dumps(
        {
            "__CURSOR": "s=1;i=2",
            "MESSAGE": message,
            "__REALTIME_TIMESTAMP": "1795320753000000",
            "PRIORITY": "6",
            **fields,
        }
    )


def test_journal_entry_is_parsed_as_its_event() -> None:
    record = parse_journal(_journal(event("daemon.ready", agents=2), _COMM="python"))

    assert record is not None
    assert (record.event, record.level, record.fields) == ("daemon.ready", "info", {"agents": 2})


def test_service_manager_messages_have_time_and_level() -> None:
    record = parse_journal(_journal("memd.service: Main process exited", _COMM="systemd", PRIORITY="3"))

    assert record is not None
    assert (record.text, record.level) == ("memd.service: Main process exited", "error")
    assert datetime.fromisoformat(record.time).timestamp() == 1_795_320_753


def test_journal_bytes_are_decoded_and_invalid_entries_ignored() -> None:
    record = parse_journal(_journal(list(b"caf\xc3\xa9 \xff"), _COMM="python"))

    assert record is not None
    assert record.text == "café �"
    assert [parse_journal(text) for text in ("", "{}", "3", _journal(3))] == [None] * 4


def test_the_last_lines_are_read_across_rotated_files(tmp_path: Path) -> None:
    path = tmp_path / "memd.log"
    path.with_name("memd.log.2").write_text("".join(event("old", number=n) + "\n" for n in range(3)))
    path.with_name("memd.log.1").write_text("".join(event("new", "error", number=n) + "\n" for n in range(3)))
    path.write_text(event("now", number=0) + "\n" + "half a li")

    last = FileLog(str(path)).last(5, everything)
    serious = FileLog(str(path)).last(2, lambda record: record.is_at_least("error"))

    assert [record.event for record in last] == ["old", "new", "new", "new", "now"]
    assert [record.fields for record in serious] == [{"number": 1}, {"number": 2}]
    assert FileLog(str(path)).last(0, everything) == []


class FollowSteps:
    """Executes one step each time a follower waits; stops it after the last."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def __call__(self, seconds: float) -> None:
        if not self.steps:
            raise StopFollowing
        self.steps.pop(0)()


class StopFollowing(Exception):
    """All steps were executed."""


def _followed(source: FileLog, steps: FollowSteps) -> list[str]:
    """Return the events that are shown until the steps end."""
    found: list[str] = []
    with contextlib.suppress(StopFollowing):
        for record in source.follow(everything, steps):
            found.append(record.event or record.text)
    return found


class WrittenLog(LogStream):
    """A log whose `write` returns once the lines are in the file."""

    def write(self, text: str) -> int:
        """Write, and wait for the writing thread."""
        size = super().write(text)
        assert self.drain()
        return size


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, LogStream]]:
    """A log that rotates at 300 bytes."""
    path = tmp_path / "memd.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    stream = WrittenLog(descriptor)
    stream.rotate_file(path, limit_bytes=300)
    yield path, stream
    os.close(descriptor)


def test_following_survives_rotation_without_duplicates(
    log: tuple[Path, LogStream],
) -> None:
    path, stream = log
    stream.write(event("before") + "\n")
    source = FileLog(str(path))
    assert [record.event for record in source.last(10, everything)] == ["before"]

    steps = FollowSteps(
        *[lambda number=number: stream.write(event(f"e{number}") + "\n") for number in range(12)]
    )

    assert _followed(source, steps) == [f"e{number}" for number in range(12)]
    assert path.with_name("memd.log.2").exists()


def test_lines_written_before_following_starts_are_shown(log: tuple[Path, LogStream]) -> None:
    path, stream = log
    stream.write(event("before") + "\n")
    source = FileLog(str(path))
    source.last(10, everything)
    for number in range(4):  # rotates the file before it is opened again
        stream.write(event(f"e{number}") + "\n")

    assert _followed(source, FollowSteps()) == [f"e{number}" for number in range(4)]


def test_unfinished_line_is_shown_once_complete(log: tuple[Path, LogStream]) -> None:
    path, stream = log
    source = FileLog(str(path))
    source.last(10, everything)

    assert _followed(source, FollowSteps(lambda: stream.write("first "), lambda: stream.write("half\n"))) == [
        "first half"
    ]


def test_missing_or_truncated_log_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "memd.log"
    steps = FollowSteps(
        lambda: path.write_text("one\ntwo\n"),
        lambda: os.truncate(path, 0),
        lambda: path.write_text("three\n"),
    )

    assert _followed(FileLog(str(path)), steps) == ["one", "two", "three"]


def _journalctl(tmp_path: Path, script: str) -> str:
    """Install a fake journalctl that records its arguments, and return its path."""
    program = tmp_path / "journalctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{script}\n')
    program.chmod(0o700)
    return str(program)


def test_journalctl_is_called_for_the_users_unit(tmp_path: Path) -> None:
    entries = "\n".join(
        _journal(event(f"e{n}", level), _COMM="x") for n, level in enumerate(("info", "error"))
    )
    (tmp_path / "entries").write_text(entries + "\n")
    journal = JournalLog(_journalctl(tmp_path, f"cat {tmp_path}/entries"), "memd.service")

    serious = journal.last(5, lambda record: record.is_at_least("error"))
    followed = list(journal.follow(everything, FollowSteps()))

    assert [record.event for record in serious] == ["e1"]
    assert [record.event for record in followed] == ["e0", "e1"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert all(line.startswith("--user --unit memd.service --output json") for line in asked)
    assert "--follow" in asked[1]
    assert "--after-cursor s=1;i=2 " in asked[1]


def test_unreadable_journal_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailableError, match="failed with exit code 1: No journal files were found"):
        JournalLog(
            _journalctl(tmp_path, "echo No journal files were found >&2; exit 1"), "memd.service"
        ).last(5, everything)


def _daemon(tmp_path: Path, leads_to: str, program: str = "memd") -> tuple[str, str]:
    """Return a socket and a /proc folder in which the daemon's standard error has the given target."""
    socket = str(tmp_path / "memd.sock")
    (tmp_path / "memd.sock.lock").write_text("42\n")
    (tmp_path / "proc/42/fd").mkdir(parents=True)
    (tmp_path / "proc/42/fd/2").symlink_to(leads_to)
    (tmp_path / "proc/42/cmdline").write_bytes(f"python\0-m\0{program}\0".encode())
    return socket, str(tmp_path / "proc")


def test_log_of_a_running_daemon_is_its_standard_error(tmp_path: Path) -> None:
    socket, processes = _daemon(tmp_path, "/home/ann/my.log")

    source = find_log(socket, has_unit=True, processes=processes)

    assert isinstance(source, FileLog)
    assert source.path == "/home/ann/my.log"


def test_log_on_a_terminal_is_an_error_that_names_it(tmp_path: Path) -> None:
    socket, processes = _daemon(tmp_path, "/dev/pts/3")

    with pytest.raises(LogUnavailableError, match="/dev/pts/3"):
        find_log(socket, has_unit=False, processes=processes)


@pytest.mark.parametrize(
    ("leads_to", "program", "has_unit"), [("socket:[77]", "memd", False), ("/x", "cat", True)]
)
def test_journal_is_used_if_a_service_runs_or_is_installed(
    tmp_path: Path, leads_to: str, program: str, has_unit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket, processes = _daemon(tmp_path, leads_to, program)
    _journalctl(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert isinstance(find_log(socket, has_unit=has_unit, processes=processes), JournalLog)


def test_without_a_daemon_the_last_log_file_is_used(tmp_path: Path) -> None:
    socket = str(tmp_path / "memd.sock")
    with pytest.raises(LogUnavailableError, match=r"cannot read the log .*memd\.log"):
        find_log(socket, has_unit=False)
    (tmp_path / "memd.log").touch()

    source = find_log(socket, has_unit=False)

    assert isinstance(source, FileLog)
    assert source.path == str(tmp_path / "memd.log")


@pytest.fixture
def place(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of this user's daemon at its default path."""
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "memd.sock"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(short_path / "config"))
    path = short_path / "memd.log"
    path.write_text(
        f"{event('daemon.ready', agents=2)}\n{event('sync.pass_failed', 'warning')}\nnoise\x1b[2J\n"
    )
    return path


def test_the_command_shows_the_last_lines_without_a_daemon(place: Path) -> None:
    ran = memctl("logs", "-n", "2")

    assert (ran.code, ran.opened, ran.err) == (0, 0, "")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["sync.pass_failed", "noise\\x1b[2J"]


def test_the_command_filters_by_level_and_prints_one_object_a_line(place: Path) -> None:
    ran = memctl("logs", "--level", "warning", "--json")

    assert [json.loads(line) for line in ran.out.splitlines()] == [
        {"timestamp": "2026-11-22T04:12:33.123456Z", "level": "warning", "event": "sync.pass_failed"},
        {"text": "noise\x1b[2J"},
    ]


def test_log_without_matching_lines_prints_a_note(place: Path) -> None:
    place.write_text(f"{event('daemon.ready')}\n")

    ran = memctl("logs", "--level", "error")

    assert (ran.code, ran.out) == (0, "")
    assert "no lines of level error or above in the log" in ran.err


def test_following_ends_with_ctrl_c(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memd.cli.logs._wait", interrupted)

    ran = memctl("logs", "--follow", "-n", "1")

    assert (ran.code, ran.out) == (130, "noise\\x1b[2J\n")


def test_missing_log_is_an_error_with_a_hint(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "memd.sock"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(short_path))

    ran = memctl("logs")

    assert ran.code == 1
    assert ran.err.endswith("code: log_unavailable\n")
