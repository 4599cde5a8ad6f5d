"""Copies of other programs' notes are recognised by the comment that names their source."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sources.imported import ImportedFolder, _read_copy, find_imported
from memd.sources.notes import WorkspaceNotes

LIMIT_BYTES = 1_000_000


class ImportedHome:
    """A home folder with other programs' notes, and a workspace with copies of them."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def copy(self, target: str, source: str, text: str = "Tea\n", *, edited: str = "") -> None:
        """Write a source and its copy; `edited` is appended to the copy."""
        self.write(source, text)
        comment = comment_of(str(self.home / source), text)
        begin, fence, rest = text.partition("---\n")
        copied = (
            f"---\n# {comment}\n{rest}"
            if fence and not begin and "---\n" in rest
            else f"<!-- {comment} -->\n{text}"
        )
        self.write(f"workspace/memory/imported/{target}", copied + edited)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def found(self) -> list[ImportedFolder]:
        files = WorkspaceNotes(self.home / "workspace", (), LIMIT_BYTES).find().files
        return find_imported(files, LIMIT_BYTES)

    def folders(self) -> list[tuple[str, str, str, int]]:
        """Return the program, folder, label and number of files of each row."""
        home = f"{self.home}/"
        return [
            (each.program, each.folder.removeprefix(home), each.label, each.files) for each in self.found()
        ]


def comment_of(source: str, text: str, kind: str = "codex") -> str:
    """Return the contents of a copy's comment."""
    facts = {
        "kind": kind,
        "source": source,
        "sha256": sha256(text.encode()).hexdigest(),
        "imported": "2026-11-22T17:40:12Z",
    }
    return f"memd-import {json.dumps(facts, ensure_ascii=False)}"


@pytest.fixture
def home(tmp_path: Path) -> ImportedHome:
    return ImportedHome(tmp_path)


def test_copies_of_a_folder_are_one_row_that_names_the_folder(home: ImportedHome) -> None:
    home.copy("codex/AGENTS.md", ".codex/AGENTS.md")
    home.copy("codex/memories/a/MEMORY.md", ".codex/memories/a/MEMORY.md", "---\ntags: []\n---\nTea\n")

    assert home.found() == [
        ImportedFolder(
            "codex",
            str(home.home / ".codex"),
            "memory/imported/codex",
            "",
            exists=True,
            files=2,
            only_here=[],
        )
    ]


@pytest.mark.parametrize(
    ("kind", "target", "source", "folder", "label"),
    [
        ("claude-code", "CLAUDE.md", ".claude/CLAUDE.md", ".claude", ""),
        ("claude-code", "projects/-a/memory/b.md", ".claude/projects/-a/memory/b.md", ".claude", ""),
        ("claude-code", "auto-memory/b.md", "notes/b.md", "notes", "auto-memory"),
        ("claude-code", "shop/CLAUDE.md", "work/shop/CLAUDE.md", "work/shop", "shop"),
        ("claude-code", "shop/claude/rules/a.md", "work/shop/.claude/rules/a.md", "work/shop/.claude", "shop"),
        ("memsearch", "shop/memory/2026-02-09.md", "shop/.memsearch/memory/2026-02-09.md", "shop/.memsearch", "shop"),
        ("basic-memory", "main/specs/a.md", "basic-memory/specs/a.md", "basic-memory", "main"),
        ("basic-memory", "main/specs/a-0a1b2c3d.md", "basic-memory/specs/a.md", "basic-memory", "main"),
        ("basic-memory", "moved/a.md", "basic-memory/specs/a.md", "basic-memory/specs", "moved"),
    ],
)  # fmt: skip
def test_folder_is_the_part_of_the_source_above_the_path_of_the_copy(
    home: ImportedHome, kind: str, target: str, source: str, folder: str, label: str
) -> None:
    text = "Tea\n"
    home.write(source, text)
    comment = comment_of(str(home.home / source), text, kind)
    home.write(f"workspace/memory/imported/{kind}/{target}", f"<!-- {comment} -->\n{text}")

    assert home.folders() == [(kind, folder, label, 1)]
    assert home.found()[0].only_here == []


def test_edited_copies_and_copies_without_a_source_are_only_here(home: ImportedHome) -> None:
    home.copy("codex/memories/a.md", ".codex/memories/a.md", edited="Milk\n")
    home.copy("codex/memories/b.md", ".codex/memories/b.md")
    home.copy("codex/memories/c.md", ".codex/memories/c.md")
    (home.home / ".codex/memories/b.md").unlink()

    (found,) = home.found()

    assert found.exists
    assert found.only_here == ["memory/imported/codex/memories/a.md", "memory/imported/codex/memories/b.md"]


def test_deleted_folder_is_reported_as_missing(home: ImportedHome) -> None:
    home.copy("codex/AGENTS.md", ".codex/AGENTS.md")
    (home.home / ".codex/AGENTS.md").unlink()
    (home.home / ".codex").rmdir()

    (found,) = home.found()

    assert (found.exists, found.only_here) == (False, ["memory/imported/codex/AGENTS.md"])


def test_notes_outside_the_folder_of_copies_are_the_users(home: ImportedHome) -> None:
    home.write("workspace/memory/tea.md", f"<!-- {comment_of('/x/tea.md', 'Tea')} -->\nTea")
    home.write("workspace/memory/imported/codex/own.md", "# Own\n")

    assert home.found() == []


@pytest.mark.parametrize(
    "begin",
    [
        "<!-- memd-import {} -->",
        "<!-- memd-import [] -->",
        '<!-- memd-import {"kind": "codex", "source": 1, "sha256": ""} -->',
        f"<!-- {comment_of('relative.md', '')} -->",
        f"<!-- {comment_of('/x/a.md', '', kind='curl')} -->",
        '<!-- memd-import {"kind": "codex", "source": "/\\ud800", "sha256": ""} -->',
        '<!-- memd-import {"kind": "codex", "source": "/\\u001b[2J", "sha256": ""} -->',
        "<!-- memd-import {" + "[" * 100_000 + "} -->",
        "<!-- another comment -->",
        "text\n---\n# memd-import {}",
    ],
)
def test_invalid_comment_is_not_that_of_a_copy(begin: str) -> None:
    assert _read_copy("memory/imported/codex/a.md", f"{begin}\nTea\n") is None


@given(
    st.text().filter(lambda text: not text.startswith("\ufeff")), st.sampled_from(["\n", "\r\n"]), st.text()
)
def test_any_edit_of_a_copy_is_detected(text: str, end: str, more: str) -> None:
    copy = f"<!-- {comment_of('/x/a.md', text)} -->{end}{text}"

    found = _read_copy("memory/imported/codex/a.md", copy + more)

    assert found is not None
    assert found.is_edited == (more != "")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_copy_with_frontmatter_or_a_byte_order_mark_counts_as_unedited(end: str) -> None:
    for begin in ("", "\ufeff"):
        text = f"{begin}---{end}tags: []{end}---{end}Tea{end}"
        first = len(f"{begin}---{end}")
        copy = f"{text[:first]}# {comment_of('/x/a.md', text)}{end}{text[first:]}"

        found = _read_copy("memory/imported/codex/a.md", copy)

        assert found is not None
        assert not found.is_edited
