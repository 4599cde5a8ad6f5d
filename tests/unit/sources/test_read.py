"""Reading memory files consistently and without following links; errors of unreadable paths."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from pathlib import Path

import pytest

from memd.settings.schema import ExtraPath
from memd.sources.notes import WorkspaceNotes
from memd.sources.read import read_file, refusal_of
from memd.sources.source import Listing, SourceFile
from memd.sources.tree import LINK
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError
from memd_client.messages import SkippedFile
from tests.support.hostile import swap_with_link

LIMIT = 1_048_576

INSIDE, OUTSIDE = "inside, where the agent's notes are", "outside, where nobody may look"


def _found(path: Path, root: Path | None = None) -> SourceFile:
    return SourceFile("memory/a.md", str(path), 0, 0, 0, 0, root=str(root or path.parent))


def _two_folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a workspace with a note at `memory/sub/a.md`, and a folder outside with a file of that name."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder, text in ((workspace / "memory" / "sub", INSIDE), (outside / "sub", OUTSIDE)):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text(text)
    return workspace, outside


def test_text_and_hash_equal_the_file(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_bytes("héllo\r\nwörld".encode())
    file = read_file(_found(note), LIMIT)
    assert file.text == "héllo\r\nwörld"
    assert file.hash == hashlib.sha256(note.read_bytes()).hexdigest()
    assert file.inode == os.stat(note).st_ino


def test_unreadable_file_raises_an_error_with_its_code(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError):
        read_file(_found(tmp_path / "none.md"), LIMIT)
    with pytest.raises(FileMissingError):
        read_file(_found(tmp_path / "none" / "a.md"), LIMIT)
    (tmp_path / "link.md").symlink_to(tmp_path / "none.md")
    with pytest.raises(PathRefusedError):
        read_file(_found(tmp_path / "link.md"), LIMIT)
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(PathRefusedError):
        read_file(_found(tmp_path / "pipe.md"), LIMIT)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileUnreadableError) as caught:
        read_file(_found(tmp_path / "file" / "below.md", tmp_path), LIMIT)
    assert "memory/a.md" in caught.value.message
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(FileUnreadableError) as caught:
        read_file(_found(tmp_path / "latin.md"), LIMIT)
    assert caught.value.data["reason"] == "not_utf8"


def test_file_that_grew_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    with note.open("wb") as file:
        file.truncate(64 * LIMIT)
    with pytest.raises(FileUnreadableError, match=r"too big: 67\.1 MB, the limit is 1\.05 MB"):
        read_file(_found(note), LIMIT)


def test_file_growing_while_it_is_read_is_left_to_the_next_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "a.md"
    note.write_text("x" * 100)
    fstat = os.fstat

    def fstat_then_grow(handle: int) -> os.stat_result:
        facts = fstat(handle)
        with note.open("a") as file:
            file.write("y" * 50)
        return facts

    monkeypatch.setattr(os, "fstat", fstat_then_grow)
    with pytest.raises(FileUnreadableError) as caught:
        read_file(_found(note), LIMIT)
    assert caught.value.data["reason"] == "moving"


@pytest.mark.parametrize(
    "location",
    [
        "{root}/../outside/sub/a.md",
        "{root}/memory/../../outside/sub/a.md",
        "{root}/./memory/sub/a.md",
        "{root}//memory/sub/a.md",
        "{root}-beside/a.md",
        "{root}",
        "/etc/hostname",
        "memory/sub/a.md",
    ],
)
def test_file_outside_its_root_is_refused(tmp_path: Path, location: str) -> None:
    workspace, _ = _two_folders(tmp_path)
    for root in (str(workspace), ""):
        with pytest.raises(PathRefusedError):
            read_file(
                SourceFile("memory/a.md", location.format(root=workspace), 0, 0, 0, 0, root=root), LIMIT
            )


@pytest.mark.parametrize("linked", ["memory", "memory/sub", "memory/sub/a.md"])
def test_file_replaced_by_a_link_is_refused(tmp_path: Path, linked: str) -> None:
    workspace, outside = _two_folders(tmp_path)
    found = WorkspaceNotes(workspace, (), LIMIT).find().files["memory/sub/a.md"]
    assert read_file(found, LIMIT).text == INSIDE
    (workspace / linked).rename(tmp_path / "aside")
    target = {"memory": outside, "memory/sub": outside / "sub", "memory/sub/a.md": outside / "sub" / "a.md"}
    (workspace / linked).symlink_to(target[linked])
    with pytest.raises(PathRefusedError) as caught:
        read_file(found, LIMIT)
    assert caught.value.data["reason"] == "moving"  # so its rows stay until the next scan


def test_file_in_a_linked_workspace_is_read(tmp_path: Path) -> None:
    workspace, _ = _two_folders(tmp_path)
    (tmp_path / "link").symlink_to(workspace)
    found = WorkspaceNotes(tmp_path / "link", (), LIMIT).find().files["memory/sub/a.md"]
    assert read_file(found, LIMIT).text == INSIDE


def test_hard_link_in_the_workspace_is_read(tmp_path: Path) -> None:
    workspace, outside = _two_folders(tmp_path)
    os.link(outside / "sub" / "a.md", workspace / "memory" / "hard.md")
    found = WorkspaceNotes(workspace, (), LIMIT).find().files["memory/hard.md"]
    assert read_file(found, LIMIT).text == OUTSIDE


def test_file_in_a_folder_without_list_permission_is_read(tmp_path: Path) -> None:
    workspace, outside = _two_folders(tmp_path)
    outside.chmod(0o311)
    try:
        disk = WorkspaceNotes(workspace, (ExtraPath(path=str(outside / "sub")),), LIMIT).find()
        assert read_file(disk.files["../outside/sub/a.md"], LIMIT).text == OUTSIDE
    finally:
        outside.chmod(0o700)


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    workspace, _ = _two_folders(tmp_path)
    found = WorkspaceNotes(workspace, (), LIMIT).find().files["memory/sub/a.md"]
    gone = found._replace(location=str(workspace / "memory" / "sub" / "gone.md"))
    (workspace / "memory" / "link").symlink_to("sub")
    linked = found._replace(location=str(workspace / "memory" / "link" / "a.md"))
    folder = found._replace(location=str(workspace / "memory" / "sub"))
    before = os.listdir("/dev/fd")
    read_file(found, LIMIT)
    for wrong in (gone, linked, folder):
        with pytest.raises((FileMissingError, PathRefusedError)):
            read_file(wrong, LIMIT)
    assert os.listdir("/dev/fd") == before


@pytest.mark.parametrize("swapped", ["memory", "memory/sub", "memory/sub/a.md"])
def test_folder_swapped_for_a_link_in_a_loop_never_exposes_outside_bytes(
    tmp_path: Path, swapped: str
) -> None:
    workspace, outside = _two_folders(tmp_path)
    found = WorkspaceNotes(workspace, (), LIMIT).find().files["memory/sub/a.md"]
    place, real, link = workspace / swapped, tmp_path / "real", tmp_path / "link"
    link.symlink_to(
        {"memory": outside, "memory/sub": outside / "sub", "memory/sub/a.md": outside / "sub" / "a.md"}[
            swapped
        ]
    )

    seen: Counter[str] = Counter()
    reasons = set()
    with swap_with_link(place, real, link):
        for reads in itertools.count():
            if reads >= 2000 and (reads > 200_000 or {INSIDE, "path_refused"} <= seen.keys()):
                break  # both outcomes occurred, so the race was tested
            try:
                seen[read_file(found, LIMIT).text] += 1
            except (PathRefusedError, FileMissingError, FileUnreadableError) as error:
                seen[error.code] += 1
                reasons.add(error.data.get("reason"))
    assert OUTSIDE not in seen
    assert {INSIDE, "path_refused"} <= seen.keys(), seen
    assert reasons <= {"moving", None}  # never an error that deletes the file's rows


@pytest.mark.parametrize(
    ("data", "limit", "read"),
    [
        (b"one\ntwo\nthree\n", 9, b"one\ntwo\n"),
        (b"one\ntwo\nthree\n", 8, b"one\ntwo\n"),
        (b"one\ntwo\nthree\n", 7, b"one\n"),
        (b"one\r\ntwo\r\n", 6, b"one\r\n"),
        (b"one\ntwo\n", 8, b"one\ntwo\n"),
        (("é" * 10).encode(), 7, ("é" * 3).encode()),
        ("😀😀".encode(), 7, "😀".encode()),
        ("😀".encode(), 3, b""),
    ],
)
def test_file_beyond_the_limit_is_read_up_to_its_last_complete_line(
    tmp_path: Path, data: bytes, limit: int, read: bytes
) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(data)
    file = read_file(_found(note), limit, cut=True)
    assert file.text == read.decode()
    assert file.hash == hashlib.sha256(read).hexdigest()
    assert file.size == len(data)  # the file is known by its own stat


DAYS = ["memory/2026-01-16.md", "memory/2026-01-18.md"]


def _days(beyond_limits: int = 0) -> Listing:
    files = {path: SourceFile(path, f"/w/{path}", 1, 1, 1, 1) for path in DAYS}
    return Listing(files=files, skipped=[SkippedFile("memory/link", LINK)], beyond_limits=beyond_limits)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("memory/link/a.md", f"memory/link/a.md is not indexed: {LINK}"),
        ("memory/.git/a.md", "hidden folders and"),
        ("memory/venv/a.md", "venv are not memory"),
        ("notes/a.md", "outside the memory files"),
        ("/etc/passwd", "absolute"),
    ],
)
def test_path_outside_memory_is_refused_with_the_reason(path: str, said: str) -> None:
    error = refusal_of(path, _days(), "/w")

    assert isinstance(error, PathRefusedError)
    assert said in error.message


def test_missing_file_error_suggests_similar_paths() -> None:
    error = refusal_of("memory/2026-01-17.md", _days(), "/w")

    assert isinstance(error, FileMissingError)
    assert error.hint == "did you mean memory/2026-01-16.md or memory/2026-01-18.md?"
    assert error.data["near"] == DAYS


def test_missing_file_error_suggests_the_path_that_backslashes_mean() -> None:
    error = refusal_of(r".\memory\2026-01-18.md", _days(), "/w")

    assert isinstance(error, FileMissingError)
    assert error.hint == "did you mean memory/2026-01-18.md?"
    assert isinstance(refusal_of(r"..\memory\2026-01-18.md", _days(), "/w"), PathRefusedError)
    assert isinstance(refusal_of(r"\etc\hosts.md", _days(), "/w"), PathRefusedError)


def test_missing_file_error_suggests_no_private_notes() -> None:
    path = "memory/sessions/2026-01-17-salary.md"
    found = SourceFile(path, f"/w/{path}", 1, 1, 1, 1)

    error = refusal_of("memory/sessions/2026-01-17.md", Listing({path: found}), "/w")

    assert "near" not in error.data


def test_file_beyond_the_agents_limits_is_not_reported_as_missing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "old.md").write_text("old")

    error = refusal_of("memory/old.md", _days(beyond_limits=1), str(tmp_path))

    assert isinstance(error, PathRefusedError)
    assert "max_agent_files" in error.hint
