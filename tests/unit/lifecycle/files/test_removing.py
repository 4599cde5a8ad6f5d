"""A file is removed while others write to it, and nothing of theirs is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.lifecycle.files import replacing
from memd.lifecycle.files.writing import remove, remove_empty_folders
from memd_client.errors import FileUnreadableError, NoteUnwritableError, PathRefusedError

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux reports which files are open for writing"
)

NOTE = "memory/note.md"

TEXT = "one\ntwo\n"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A note that another program writes to as well."""
    path = tmp_path / NOTE
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def files_of(note: Path) -> dict[str, str]:
    """Return the files next to a note, temporary ones included."""
    return {path.name: path.read_text() for path in note.parent.iterdir()}


def is_text(held: str) -> bool:
    return held == TEXT


def before_first(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Have something happen right before a function of `replacing` is called for the first time."""
    real, acts = getattr(replacing, name), iter([act])

    def wrapped(*arguments: Any, **named: Any) -> Any:
        next(acts, lambda: None)()
        return real(*arguments, **named)

    monkeypatch.setattr(replacing, name, wrapped)


def renamed(note: Path) -> Path:
    """Return the note under the name that it has now."""
    [path] = note.parent.iterdir()
    return path


def test_file_with_the_expected_text_is_removed(tmp_path: Path, note: Path) -> None:
    assert remove(tmp_path, NOTE, is_text)
    assert files_of(note) == {}


def test_file_with_another_text_is_kept(tmp_path: Path, note: Path) -> None:
    note.write_text("edited\n")
    assert not remove(tmp_path, NOTE, is_text)
    assert files_of(note) == {"note.md": "edited\n"}


@pytest.mark.parametrize("path", ["memory/gone.md", "gone/note.md"])
def test_missing_file_counts_as_removed(tmp_path: Path, note: Path, path: str) -> None:
    assert remove(tmp_path, path, lambda _: pytest.fail("there is no text"))
    assert files_of(note) == {"note.md": TEXT}


@pytest.mark.parametrize(
    "path", ["../note.md", "/note.md", "memory/../memory/note.md", "memory//note.md", ""]
)
def test_path_outside_the_workspace_is_refused(tmp_path: Path, note: Path, path: str) -> None:
    with pytest.raises(PathRefusedError):
        remove(tmp_path, path, lambda _: True)
    assert files_of(note) == {"note.md": TEXT}


def test_link_is_refused_and_stays(tmp_path: Path, note: Path) -> None:
    note.rename(tmp_path / "target.md")
    note.symlink_to("../target.md")
    with pytest.raises(PathRefusedError, match="symbolic link"):
        remove(tmp_path, NOTE, lambda _: True)
    assert note.is_symlink()
    assert (tmp_path / "target.md").read_text() == TEXT


def test_file_below_a_link_is_refused_and_stays(tmp_path: Path, note: Path) -> None:
    (tmp_path / "linked").symlink_to("memory")
    with pytest.raises(PathRefusedError):
        remove(tmp_path, "linked/note.md", lambda _: True)
    assert files_of(note) == {"note.md": TEXT}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused_and_stays(
    tmp_path: Path, note: Path, make: Callable[[Path], None]
) -> None:
    note.unlink()
    make(note)
    with pytest.raises(FileUnreadableError, match="is not a file"):
        remove(tmp_path, NOTE, lambda _: True)
    assert note.exists()


def test_file_that_is_no_text_is_refused_and_stays(tmp_path: Path, note: Path) -> None:
    note.write_bytes(b"\xff")
    with pytest.raises(FileUnreadableError, match="not UTF-8"):
        remove(tmp_path, NOTE, lambda _: True)
    assert note.read_bytes() == b"\xff"


@LINUX
def test_file_that_a_program_has_open_is_kept(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "WRITER_TIMEOUT_S", 0.05)
    with note.open("a") as file:
        with pytest.raises(NoteUnwritableError, match="open for writing"):
            remove(tmp_path, NOTE, is_text)
        file.write("three\n")
    assert files_of(note) == {"note.md": TEXT + "three\n"}


@LINUX
def test_file_that_a_program_closes_in_time_is_removed(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = note.open("a")
    before_first(monkeypatch, "wait_for_writers", file.close)
    assert remove(tmp_path, NOTE, is_text)
    assert files_of(note) == {}


@pytest.fixture(params=["link", "no-link"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system with hard links, and one without."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param == "no-link":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("file_system")
def test_file_that_a_program_changes_meanwhile_is_kept(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, "read_settled", lambda: renamed(note).write_text("edited\n"))
    assert not remove(tmp_path, NOTE, is_text)
    assert files_of(note) == {"note.md": "edited\n"}


@pytest.mark.usefixtures("file_system")
def test_file_that_a_program_replaces_meanwhile_keeps_both_versions(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        renamed(note).write_text("edited\n")
        note.write_text("new\n")

    before_first(monkeypatch, "read_settled", write)
    with pytest.raises(NoteUnwritableError, match="its version is kept as note-kept-"):
        remove(tmp_path, NOTE, is_text)
    texts = files_of(note)
    assert texts.pop("note.md") == "new\n"
    assert list(texts.values()) == ["edited\n"]


def test_new_file_that_a_program_creates_after_the_removal_stays(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, "read_settled", lambda: note.write_text("new\n"))
    assert remove(tmp_path, NOTE, is_text)
    assert files_of(note) == {"note.md": "new\n"}


def test_empty_folders_of_a_removed_file_are_removed_up_to_the_first(tmp_path: Path) -> None:
    deep = tmp_path / "memory" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "memory" / "kept" / "c").mkdir(parents=True)
    (tmp_path / "memory" / "kept" / "note.md").write_text(TEXT)

    remove_empty_folders(tmp_path, "memory/a/b/note.md")
    remove_empty_folders(tmp_path, "memory/kept/c/note.md")
    remove_empty_folders(tmp_path, "memory/missing/note.md")
    remove_empty_folders(tmp_path, "MEMORY.md")

    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["memory", "memory/kept", "memory/kept/note.md"]


def test_folder_behind_a_link_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "b").mkdir(parents=True)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a").symlink_to(tmp_path / "elsewhere")

    remove_empty_folders(tmp_path, "memory/a/b/note.md")

    assert (tmp_path / "elsewhere" / "b").is_dir()
