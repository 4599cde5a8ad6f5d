from __future__ import annotations

from pathlib import Path

import pytest

from memd.index.transcripts import SessionFacts
from memd.sources.exclusions import NOTHING_EXCLUDED, Exclusions
from memd.sources.source import MEMORY, FileText, Listing, SourceFile


def file_at(location: str, source: str = "claude-code-notes") -> SourceFile:
    """Return a note at a location."""
    return SourceFile(f"{source}/x.md", location, 1, 1, 1, 1, source, "/")


@pytest.mark.parametrize(
    ("entry", "cwd", "project", "is_excluded"),
    [
        ("/home/eva/client", "/home/eva/client", "", True),
        ("/home/eva/client", "/home/eva/client/api", "/home/eva/client", True),
        ("/home/eva/client/", "/home/eva/client/api", "", True),
        ("~/client", "/home/eva/client/../client/api", "", True),
        ("/home/eva/client", "/home/eva/client-b", "", False),
        ("/home/eva/client", "/tmp/worktree", "/home/eva/client", True),
        ("/home/eva/client", "", "", False),
        ("/home/eva/client", "relative/client", "", False),
        ("client", "/home/eva/work/Client", "/home/eva/work/Client", True),
        ("client", "/home/eva/work/client/deep", "/home/eva/work/client/deep", True),
        ("client", "/home/eva/clients", "/home/eva/clients", False),
        ("eva", "/home/eva/shop", "/home/eva/shop", False),
    ],
)
def test_a_session_is_excluded_by_its_folder_or_by_its_project(
    entry: str, cwd: str, project: str, is_excluded: bool
) -> None:
    assert Exclusions([entry], Path("/home/eva")).excludes(cwd, project) is is_excluded


def test_links_to_an_excluded_folder_are_excluded(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Exclusions([str(tmp_path / "link")], tmp_path).excludes(str(tmp_path / "real/x"))
    assert Exclusions([str(tmp_path / "real")], tmp_path).excludes(str(tmp_path / "link/x"))


def test_notes_that_claude_keeps_about_a_project_are_excluded_with_it_but_not_those_of_its_sibling(
    tmp_path: Path,
) -> None:
    for name in ("shop", "shop-web", "bank"):
        (tmp_path / name).mkdir()
    exclusions = Exclusions([str(tmp_path / "shop")], tmp_path)

    def is_excluded(folder: str) -> bool:
        slug = str(tmp_path / folder).replace("/", "-").replace("_", "-")
        return exclusions.excludes_file(file_at(f"{tmp_path}/.claude/projects/{slug}/memory/MEMORY.md"))

    assert [is_excluded(each) for each in ("shop", "shop/api", "shop-web", "bank")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_agents_own_memory_is_excluded_by_a_path_only() -> None:
    file = file_at("/home/eva/.openclaw/workspace/memory/x.md", MEMORY)
    assert not Exclusions(["workspace"], Path("/home/eva")).excludes_file(file)
    assert Exclusions(["~/.openclaw/workspace/memory"], Path("/home/eva")).excludes_file(file)


def test_a_listing_without_excluded_files_is_the_same_object() -> None:
    listing = Listing({"a": file_at("/home/eva/shop/a.md")})
    assert Exclusions(["/srv"], Path("/home/eva")).filtered(listing) is listing
    assert Exclusions(["shop"], Path("/home/eva")).filtered(listing).files == {}


def test_an_excluded_conversation_keeps_neither_text_nor_facts() -> None:
    facts = SessionFacts(
        "codex", "0199", title="Payroll", cwd="/srv/payroll", project="/srv/payroll", branch="x"
    )
    text = FileText("User: salaries", "hash", 1, 2, 3, 4, (1,), 2, times=(5,), facts=facts)
    blank = Exclusions(["payroll"], Path("/home/eva")).blanked(text)
    assert (blank.text, blank.line_map, blank.times, blank.hash) == ("", (), (), "hash:excluded")
    assert blank.facts == SessionFacts("codex", kind="excluded")
    assert Exclusions(["other"], Path("/home/eva")).blanked(text) is text


def test_without_entries_nothing_is_excluded() -> None:
    assert not NOTHING_EXCLUDED
    assert not Exclusions(["", " "], Path("/home/eva"))
