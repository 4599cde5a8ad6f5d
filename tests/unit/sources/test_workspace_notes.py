"""Notes of a workspace and of extra paths, and the reasons for skipping others."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memd.settings.schema import ExtraPath
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import Listing
from memd_client.errors import FileUnreadableError
from tests.support.hostile import swap_with_link

LIMIT = 1_048_576


def find(workspace: Path, extra_paths: Sequence[ExtraPath] = (), max_bytes: int = LIMIT) -> Listing:
    """Return a workspace's notes."""
    return WorkspaceNotes(workspace, extra_paths, max_bytes).find()


def _reasons(found: Listing) -> dict[str, str]:
    return {row.path: row.reason for row in found.skipped}


def test_file_deleted_during_listing_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    for number in range(20):
        (memory / f"{number:02d}.md").write_text("note")
    scandir = os.scandir
    monkeypatch.setattr("os.scandir", lambda folder: _Listing(scandir(folder), memory / "07.md"))
    found = find(tmp_path)
    assert len(found.files) == 19


class _Listing:
    """A folder's listing during which one of its files is deleted, right after its name was read."""

    def __init__(self, entries: Any, doomed: Path) -> None:
        self._entries = entries
        self._doomed = doomed

    def __enter__(self) -> _Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        for entry in self._entries:
            if entry.name == self._doomed.name:
                self._doomed.unlink()
            yield entry


def test_scan_without_descriptors_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("a")

    def refuse(folder: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(FileUnreadableError, match="Too many open files"):
        find(tmp_path)


def test_memory_files_are_found_at_any_depth(tmp_path: Path) -> None:
    for path in (
        "MEMORY.md",
        "USER.md",
        "memory/a.md",
        "memory/b/c/d.md",
        "README.md",
        "memory/.hidden/x.md",
        "memory/node_modules/x.md",
        "memory/notes.txt",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    found = find(tmp_path)
    assert sorted(found.files) == ["MEMORY.md", "USER.md", "memory/a.md", "memory/b/c/d.md"]
    assert found.skipped == []


def test_file_in_the_place_of_the_memory_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("x")
    found = find(tmp_path)
    assert found.files == {}
    assert _reasons(found) == {"memory": "not a folder"}


def test_links_to_folders_that_are_not_walked_are_not_reported(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "outside").mkdir()
    for name in (".hidden", "node_modules", "notes"):
        (tmp_path / "memory" / name).symlink_to(tmp_path / "outside")
    assert list(_reasons(find(tmp_path))) == ["memory/notes"]


def test_two_names_of_one_root_file_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("x")
    os.link(tmp_path / "MEMORY.md", tmp_path / "memory.md")
    assert list(find(tmp_path).files) == ["MEMORY.md"]


def test_links_are_reported_and_never_followed(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    (workspace / "memory" / "link.md").symlink_to(outside / "secret.md")
    (workspace / "memory" / "folder").symlink_to(outside)
    (workspace / "MEMORY.md").symlink_to(outside / "secret.md")
    found = find(workspace)
    assert found.files == {}
    assert sorted(_reasons(found)) == ["MEMORY.md", "memory/folder", "memory/link.md"]


def test_self_referencing_link_hides_no_other_file(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (memory / "deep").mkdir(parents=True)
    for number in range(9):
        (memory / f"{number}.md").write_text("x")
        (memory / "deep" / f"{number}.md").write_text("x")
    (memory / "loop").symlink_to("loop")
    (memory / "to").symlink_to("fro")
    (memory / "fro").symlink_to("to")
    found = find(tmp_path)
    assert len(found.files) == 18
    assert sorted(_reasons(found)) == ["memory/fro", "memory/loop", "memory/to"]


def test_folder_replaced_by_a_link_during_listing_exposes_no_outside_name(tmp_path: Path) -> None:
    sub, outside = tmp_path / "workspace" / "memory" / "sub", tmp_path / "outside"
    for folder, name in ((sub, "inside.md"), (outside, "outside.md")):
        (folder / "below").mkdir(parents=True)
        (folder / name).write_text("x")
        (folder / "below" / name).write_text("x")
        (folder / f"linked-{name}").symlink_to(name)  # skipped files are named too
    (tmp_path / "link").symlink_to(outside)
    seen: set[str] = set()
    with swap_with_link(sub, tmp_path / "aside", tmp_path / "link"):
        for looks in itertools.count():
            if looks >= 500 and (looks > 50_000 or len(seen) > 3):
                break
            found = find(tmp_path / "workspace")
            seen.update(found.files, _reasons(found))
    assert not [path for path in seen if "outside" in path]
    assert {"memory/sub", "memory/sub/inside.md", "memory/sub/below/inside.md"} <= seen


def test_linked_memory_folder_is_reported(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x")
    (workspace / "memory").symlink_to(tmp_path / "real")
    found = find(workspace)
    assert found.files == {}
    assert "memory" in _reasons(found)


def test_unreadable_files_have_a_reason(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    os.mkfifo(memory / "pipe.md")
    with open(os.fsencode(memory) + b"/\xff.md", "wb"):
        pass
    found = find(tmp_path)
    assert found.files == {}
    reasons = _reasons(found)
    assert "not a regular file" in reasons["memory/pipe.md"]
    assert "not UTF-8" in reasons["memory/?.md"]


def test_file_beyond_the_limit_is_found_with_its_indexed_size(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "full.md").write_bytes(b"x" * LIMIT)
    (memory / "big.md").write_bytes(b"x" * (LIMIT + LIMIT // 4))
    found = find(tmp_path)
    assert set(found.files) == {"memory/full.md", "memory/big.md"}
    assert found.skipped == []
    assert [(each.path, each.reason.split(";")[0]) for each in found.partial] == [
        ("memory/big.md", "indexed up to 1.05 MB of 1.31 MB")
    ]


def test_missing_workspace_is_reported(tmp_path: Path) -> None:
    assert find(tmp_path / "none").is_missing


def test_extra_paths_are_folders_files_or_patterns(tmp_path: Path) -> None:
    workspace, extra = tmp_path / "workspace", tmp_path / "extra"
    (extra / "deep").mkdir(parents=True)
    workspace.mkdir()
    (extra / "deep" / "a.md").write_text("x")
    (extra / "b.md").write_text("x")
    (extra / "c.txt").write_text("x")
    whole = find(workspace, (ExtraPath(path=str(extra)),))
    assert sorted(whole.files) == ["../extra/b.md", "../extra/deep/a.md"]
    some = find(workspace, (ExtraPath(path=str(extra), pattern="deep/*.md"),))
    assert sorted(some.files) == ["../extra/deep/a.md"]
    one = find(
        workspace,
        (ExtraPath(path="../extra/b.md"), ExtraPath(path=str(extra / "c.txt")), ExtraPath(path="/nowhere")),
    )
    assert sorted(one.files) == ["../extra/b.md"]
    assert len(one.skipped) == 2


def test_every_file_has_its_root(tmp_path: Path) -> None:
    workspace, extra = tmp_path / "workspace", tmp_path / "extra"
    for note in (
        workspace / "MEMORY.md",
        workspace / "memory" / "a.md",
        workspace / "docs" / "team" / "b.md",
    ):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("x")
    extra.mkdir()
    (extra / "c.md").write_text("x")
    extras = (ExtraPath(path="docs/team"), ExtraPath(path=str(extra)))

    roots = {path: found.root for path, found in find(workspace, extras).files.items()}

    assert roots == {
        "MEMORY.md": str(workspace),
        "memory/a.md": str(workspace),
        "docs/team/b.md": str(workspace),
        "../extra/c.md": str(tmp_path),
    }


def test_extra_path_behind_a_link_in_the_workspace_is_reported(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    (outside / "team").mkdir(parents=True)
    (outside / "team" / "a.md").write_text("x")
    (workspace / "docs").symlink_to(outside)
    for extra in ("docs/team", "docs/team/a.md", str(workspace / "docs" / "team")):
        found = find(workspace, (ExtraPath(path=extra),))
        assert found.files == {}
        assert "symbolic link" in _reasons(found)[extra]


def test_workspace_can_be_an_extra_path_and_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "notes").mkdir(parents=True)
    (tmp_path / "real" / "notes" / "a.md").write_text("x")
    (tmp_path / "workspace").symlink_to(tmp_path / "real")
    found = find(tmp_path / "workspace", (ExtraPath(path="."),))
    assert list(found.files) == ["notes/a.md"]
    assert found.skipped == []


def test_extra_path_is_found_from_a_workspace_path_with_dots(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "docs").mkdir(parents=True)
    (tmp_path / "workspace" / "docs" / "a.md").write_text("x")
    workspace = tmp_path / "workspace" / ".." / "workspace"
    found = find(workspace, (ExtraPath(path="docs"),)).files["docs/a.md"]
    assert found.location.startswith(f"{found.root}/")
