"""Temporary files of killed writers are removed; those of live writers, users and other programs are kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from memd.system.temp_files import remove_leftovers, remove_leftovers_in_workspace, temp_file, temp_name
from tests.support.interrupted_writers import WRITERS, stopped_writer


def temporary_files(folder: Path) -> list[str]:
    """Return the names of all temporary files below a folder."""
    return [path.name for path in folder.rglob(".memd-*")]


def test_leftovers_of_killed_writers_are_removed_and_files_of_live_writers_kept(tmp_path: Path) -> None:
    for what in WRITERS:
        folder = tmp_path / what
        (folder / "memory").mkdir(parents=True)
        writer = stopped_writer(folder, what)
        try:
            assert len(temporary_files(folder)) == 1, what
            assert remove_leftovers_in_workspace(folder) == 0, what
        finally:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        assert len(temporary_files(folder)) == 1, what
        assert remove_leftovers_in_workspace(folder) == 1, what
        assert temporary_files(folder) == [], what


def test_sqlite_files_are_removed_only_with_their_index(tmp_path: Path) -> None:
    with temp_file(tmp_path) as (_, index):
        for suffix in ("-journal", "-wal", "-shm"):
            index.with_name(index.name + suffix).touch()
        assert remove_leftovers(tmp_path) == 0
        assert len(temporary_files(tmp_path)) == 4
        kept = tmp_path / "kept"
        index.rename(kept)
    kept.rename(index)  # as a kill leaves it: unlocked
    assert remove_leftovers(tmp_path) == 4
    assert temporary_files(tmp_path) == []


def test_only_regular_files_with_a_temporary_name_are_removed(tmp_path: Path) -> None:
    mine = tmp_path / "note.md"
    mine.write_text("kept")
    (tmp_path / temp_name()).symlink_to(mine)
    os.mkfifo(tmp_path / temp_name())
    (tmp_path / temp_name()).mkdir()
    for name in (".memd-note.tmp", ".memd-0123456789abcdef.tmp.md", "memd-0123456789abcdef.tmp", ".memd.tmp"):
        (tmp_path / name).write_text("mine")
    before = sorted(os.listdir(tmp_path))
    assert remove_leftovers(tmp_path) == 0
    assert sorted(os.listdir(tmp_path)) == before
    assert mine.read_text() == "kept"


def test_links_in_a_workspace_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / temp_name()).touch()
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "linked").symlink_to(outside)
    assert remove_leftovers_in_workspace(workspace) == 0
    (workspace / "memory" / "linked").unlink()
    (workspace / "memory").rmdir()
    (workspace / "memory").symlink_to(outside)
    assert remove_leftovers_in_workspace(workspace) == 0
    assert len(temporary_files(outside)) == 1


def test_missing_folders_and_other_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "fifo")
    for name in ("missing", "file", "fifo"):
        assert remove_leftovers(tmp_path / name) == 0
        assert remove_leftovers_in_workspace(tmp_path / name) == 0


def test_temporary_file_is_removed_after_its_block(tmp_path: Path) -> None:
    try:
        with temp_file(tmp_path) as (handle, path):
            os.write(handle, b"half")
            assert remove_leftovers(tmp_path) == 0
            raise OSError(28, "No space left on device")
    except OSError:
        pass
    with temp_file(tmp_path, 0o644) as (_, path):
        assert path.stat().st_mode & 0o777 == 0o644
        os.replace(path, tmp_path / "whole")
    assert os.listdir(tmp_path) == ["whole"]
