"""Atomic replacement of state files, and refusal of anything that is not a regular file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memd.system.state_file import load_whole, replace_synced, replace_whole


def test_replaced_file_is_readable_and_private(tmp_path: Path) -> None:
    path = tmp_path / "made" / "state.json"
    replace_whole(path, b"one")
    replace_whole(path, b"two")

    assert load_whole(path, 3, through_link=False) == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_leftover_of_a_killed_writer_is_removed(tmp_path: Path) -> None:
    (tmp_path / "state.json.tmp").write_bytes(b"half")

    replace_whole(tmp_path / "state.json", b"whole")

    assert os.listdir(tmp_path) == ["state.json"]


def test_failed_write_keeps_the_old_file_without_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    replace_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        replace_whole(path, b"new")

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("through_link", [True, False])
def test_link_is_followed_only_if_allowed(tmp_path: Path, through_link: bool) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")

    if through_link:
        assert load_whole(tmp_path / "link", 9, through_link=True) == b"x"
    else:
        with pytest.raises(OSError, match="symbolic"):
            load_whole(tmp_path / "link", 9, through_link=False)


def test_folders_and_fifos_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(OSError, match="not a regular file"):
            load_whole(path, 9, through_link=True)


def test_too_large_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 10)

    with pytest.raises(ValueError, match="too big"):
        load_whole(tmp_path / "large", 9, through_link=True)


def test_synced_replacement_sets_the_mode_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")

    replace_synced(path, b"new", 0o640)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [path.name]


def test_failed_synced_replacement_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_synced(path, b"new", 0o600)

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]
