"""What is known of cycles outlives restarts, stays small, and is never worth a failure."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from memd.lifecycle.flush.state import ASIDE, MOST_BYTES, MOST_SESSIONS, Cycle, FlushState


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sessions.json"


def test_a_cycle_is_found_again(path: Path) -> None:
    FlushState(path).keep("k", Cycle(3, 2, "id"))

    assert FlushState(path).find("k") == Cycle(3, 2, "id")
    assert FlushState(path).find("other") == Cycle()


def test_the_file_is_the_users_alone_and_nothing_lies_beside_it(path: Path) -> None:
    FlushState(path).keep("k", Cycle())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_reading_alone_writes_nothing(path: Path) -> None:
    state = FlushState(path)
    state.find("k")
    state.forget("k")

    assert not path.parent.exists()


def test_those_that_were_silent_longest_are_forgotten(path: Path) -> None:
    held = {f"s{number}": {"compactions": number} for number in range(MOST_SESSIONS)}
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "sessions": held}))
    state = FlushState(path)

    state.keep("s0", Cycle(5))
    state.keep("new", Cycle(1))

    again = FlushState(path)
    assert again.find("s0") == Cycle(5)
    assert again.find("s1") == Cycle()
    assert again.find("s2") == Cycle(2)
    assert len(json.loads(path.read_text())["sessions"]) == MOST_SESSIONS


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": 2, "sessions": {}}',
        b'{"format": 1, "sessions": {"k": {"compactions": "many"}}}',
        b'{"format": 1, "sessions": ' + b'{"a":' * 5_000,
        b" " * (MOST_BYTES + 1),
    ],
    ids=["empty", "cut", "list", "bytes", "newer", "types", "deep", "large"],
)
def test_a_damaged_file_is_set_aside_and_begun_anew(path: Path, damage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    state = FlushState(path)

    with capture_logs() as logs:
        assert state.find("k") == Cycle()
    state.keep("k", Cycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_set_aside"]
    assert path.with_name(path.name + ASIDE).read_bytes() == damage
    assert FlushState(path).find("k") == Cycle(1)


def test_a_link_in_its_place_is_neither_read_nor_written_through(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"format": 1, "sessions": {"k": {"compactions": 9}}}')
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    state = FlushState(path)

    with capture_logs() as logs:
        assert state.find("k") == Cycle()
    state.keep("k", Cycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_unread"]
    assert '"compactions": 9' in elsewhere.read_text()
    assert not path.is_symlink()


def test_what_is_no_file_is_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.mkdir()
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    state = FlushState(path)

    with capture_logs() as logs:
        state.keep("k", Cycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_set_aside"]
    assert FlushState(path).find("k") == Cycle(1)
    assert not open_before or len(os.listdir("/proc/self/fd")) == open_before


def test_what_cant_be_written_is_known_until_the_end(path: Path) -> None:
    path.parent.mkdir()
    state = FlushState(path)
    state.find("k")
    path.mkdir()

    with capture_logs() as logs:
        state.keep("k", Cycle(1))

    assert state.find("k") == Cycle(1)
    assert [each["event"] for each in logs] == ["lifecycle.flush_state_unwritten"]
    assert os.listdir(path.parent) == [path.name]


def test_what_a_stopped_writer_left_is_no_hindrance(path: Path) -> None:
    path.parent.mkdir()
    path.with_name(f"{path.name}.tmp").write_text("half")

    FlushState(path).keep("k", Cycle(1))

    assert FlushState(path).find("k") == Cycle(1)
    assert os.listdir(path.parent) == [path.name]


def test_any_key_can_be_kept(path: Path) -> None:
    keys = ["", "\0", "\u202e", '"\\', "🦀" * 500, "../../etc"]
    state = FlushState(path)
    for number, key in enumerate(keys):
        state.keep(key, Cycle(number))

    again = FlushState(path)
    assert [again.find(key).compactions for key in keys] == list(range(len(keys)))
    assert os.listdir(path.parent) == [path.name]
