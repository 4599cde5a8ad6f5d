"""A workspace follows a commit: atomically, and together with what other programs write meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.lifecycle.files import replacing
from memd.replication.apply import PendingChange, apply_changes
from memd.replication.git.repository import blob_id
from memd.replication.merge.files import Sides

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux reports which files are open for writing"
)

SIDES = Sides("laptop", "desktop", "2026-11-26")

NOTE = "memory/note.md"
CONFLICTS = "memory/conflicts/2026-11-26-desktop-note.md"
FACTS = "memory/facts.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one note."""
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).write_text("a\nb\n")
    return tmp_path


async def apply(
    root: Path, before: str | None, after: str | None, path: str = NOTE, local: str = ""
) -> list[PendingChange]:
    """Change one file from one text to another."""
    ids = [None if text is None else blob_id(text.encode()) for text in (before, after)]
    contents = {blob_id(text.encode()): text.encode() for text in (before, after) if text is not None}
    change = PendingChange(path, local or path, ids[0], ids[1])
    return await apply_changes(root, [change], contents, SIDES, 10)


def files_of(root: Path) -> dict[str, str]:
    """Return the files of a workspace."""
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("before", "after", "held", "result"),
    [
        ("a\nb\n", "a\nB\n", "a\nb\n", "a\nB\n"),
        ("a\nb\n", "a\nB\n", "a\nB\n", "a\nB\n"),
        ("a\nb\n", "a\nB\n", "A\nb\n", "A\nB\n"),
        ("a\nb\n", "a\nB\n", "", "a\nB\n"),
        ("a\nb\n", "a\nB\n", None, "a\nB\n"),
        (None, "new\n", None, "new\n"),
        (None, "new\n", "", "new\n"),
        (None, "- new\n", "- ours\n", "- ours\n- new\n"),
        (None, "", None, ""),
        ("a\n", "", "a\n", ""),
        ("a\n", "", "b\n", "b\n"),
        ("a\nb\n", None, "a\nb\n", None),
        ("a\nb\n", None, "a\nb\nours\n", "a\nb\nours\n"),
        ("a\nb\n", None, None, None),
    ],
)
async def test_file_gets_the_change_and_keeps_what_was_written_here(
    root: Path, before: str | None, after: str | None, held: str | None, result: str | None
) -> None:
    (root / NOTE).unlink()
    if held is not None:
        (root / NOTE).write_text(held)
    assert await apply(root, before, after) == []
    assert files_of(root) == ({} if result is None else {NOTE: result})


async def test_conflict_with_a_change_made_here_is_kept_in_a_file_of_its_own(root: Path) -> None:
    (root / NOTE).write_text("a\nours\n")
    assert await apply(root, "a\nb\n", "a\ntheirs\n") == []
    assert files_of(root)[NOTE] == "a\nours\n"
    assert files_of(root)[CONFLICTS].endswith(f"\n## {NOTE} line 2\n\ntheirs\n")


async def test_conflict_is_added_to_a_file_of_conflicts_that_exists(root: Path) -> None:
    (root / CONFLICTS).parent.mkdir()
    (root / CONFLICTS).write_text("# earlier\n")
    (root / NOTE).write_text("a\nours\n")
    assert await apply(root, "a\nb\n", "a\ntheirs\n") == []
    text = files_of(root)[CONFLICTS]
    assert text.startswith("# earlier\n\n")
    assert text.endswith("\n\ntheirs\n")


async def test_fact_that_was_edited_here_meanwhile_is_kept(root: Path) -> None:
    lines = {text: f"- {text} <!-- fact id=A1 -->\n" for text in ("tea", "coffee", "water")}
    (root / FACTS).write_text(lines["coffee"])
    assert await apply(root, lines["tea"], lines["water"] + "- new\n", FACTS) == []
    assert files_of(root)[FACTS] == lines["coffee"] + "- new\n"


async def test_file_with_a_local_name_is_changed_under_that_name(root: Path) -> None:
    assert await apply(root, None, "x\n", "memory/NOTE.md", "memory/NOTE~1a2b3c.md") == []
    assert files_of(root) == {NOTE: "a\nb\n", "memory/NOTE~1a2b3c.md": "x\n"}


async def test_new_file_in_new_folders_is_created(root: Path) -> None:
    assert await apply(root, None, "x\n", "memory/people/ann/note.md") == []
    assert files_of(root)["memory/people/ann/note.md"] == "x\n"


def while_replacing(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Have something happen right before a function of `replacing` is called for the first time."""
    real, acts = getattr(replacing, name), iter([act])

    def wrapped(*arguments: Any, **named: Any) -> Any:
        next(acts, lambda: None)()
        return real(*arguments, **named)

    monkeypatch.setattr(replacing, name, wrapped)


@pytest.mark.parametrize("moment", ["write_temporary", "wait_for_writers", "_exchange", "read_settled"])
async def test_line_that_a_program_appends_meanwhile_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    note = root / NOTE
    while_replacing(monkeypatch, moment, lambda: note.write_text(note.read_text() + "c\n"))
    assert await apply(root, "a\nb\n", "A\nb\n") == []
    assert files_of(root) == {NOTE: "A\nb\nc\n"}


@pytest.mark.parametrize("moment", ["wait_for_writers", "read_bytes", "read_settled"])
async def test_file_that_a_program_changes_during_its_removal_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    inode = (root / NOTE).stat().st_ino

    def append() -> None:
        [path] = [each for each in (root / "memory").iterdir() if each.stat().st_ino == inode]
        path.write_text("a\nb\nc\n")

    while_replacing(monkeypatch, moment, append)
    assert await apply(root, "a\nb\n", None) == []
    assert files_of(root) == {NOTE: "a\nb\nc\n"}


@LINUX
@pytest.mark.parametrize("after", ["A\nb\n", None])
async def test_file_that_a_program_has_open_waits(
    root: Path, monkeypatch: pytest.MonkeyPatch, after: str | None
) -> None:
    monkeypatch.setattr(replacing, "WRITER_TIMEOUT_S", 0.05)
    with (root / NOTE).open("a") as file:
        [waiting] = await apply(root, "a\nb\n", after)
        file.write("c\n")
    assert waiting.path == NOTE
    assert "open for writing" in waiting.reason
    assert files_of(root) == {NOTE: "a\nb\nc\n"}


@pytest.mark.parametrize("after", ["A\nb\n", None])
async def test_file_that_is_a_link_is_not_changed(root: Path, after: str | None) -> None:
    target = root / "target.md"
    (root / NOTE).rename(target)
    (root / NOTE).symlink_to(target)
    [waiting] = await apply(root, "a\nb\n", after)
    assert "symbolic link" in waiting.reason
    assert (root / NOTE).is_symlink()
    assert target.read_text() == "a\nb\n"


async def test_file_below_a_folder_that_is_a_link_is_not_changed(root: Path) -> None:
    (root / "elsewhere").mkdir()
    (root / "memory/sub").symlink_to("../elsewhere")
    [waiting] = await apply(root, None, "x\n", "memory/sub/x.md")
    assert "link" in waiting.reason
    assert list((root / "elsewhere").iterdir()) == []


async def test_file_that_is_not_text_here_waits(root: Path) -> None:
    (root / NOTE).write_bytes(b"\xff\n")
    [waiting] = await apply(root, "a\nb\n", "A\nb\n")
    assert "not UTF-8" in waiting.reason
    assert (root / NOTE).read_bytes() == b"\xff\n"


async def test_change_that_waits_does_not_delay_others(root: Path) -> None:
    (root / "memory/link.md").symlink_to("note.md")
    texts = {f"memory/{number}.md": f"{number}\n" for number in range(20)} | {"memory/link.md": "x\n"}
    contents = {blob_id(text.encode()): text.encode() for text in texts.values()}
    changes = [PendingChange(path, path, None, blob_id(text.encode())) for path, text in texts.items()]
    waiting = await apply_changes(root, changes, contents, SIDES, 10)
    assert [each.path for each in waiting] == ["memory/link.md"]
    assert all((root / path).read_text() == text for path, text in texts.items() if path != "memory/link.md")
