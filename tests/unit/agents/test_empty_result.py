"""An empty reply has the first applicable reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.agents.empty_result import SearchedSources, find_reason
from memd.sources.source import Listing, SourceFile
from memd.sources.tree import LINK
from memd_client.messages import PendingChanges, SearchParams, SkippedFile
from tests.unit.lifecycle.scripted_agent import found

WORKSPACE = Path("/home/ann/notes")


def file(path: str, source: str = "memory") -> SourceFile:
    return SourceFile(path, f"/x/{path}", 1, 1, 1, 1, source)


def memory(*files: SourceFile, sources: tuple[str, ...] = ("memory",), **facts: Any) -> SearchedSources:
    disk = Listing(files={each.path: each for each in files}, is_missing=facts.pop("missing", False))
    disk.skipped = list(facts.pop("skipped", ()))
    excluded, kinds = (
        [*disk.skipped, *facts.pop("refused", ())],
        {name: KINDS.get(name, "notes") for name in sources},
    )
    return SearchedSources("main", WORKSPACE, kinds, disk, excluded, projects=facts.pop("projects", None))


KINDS = {"opencode": "transcripts"}
NOTE = file("memory/2026-01-16.md")
BOTH = ("memory", "sessions")
ADDED = ("memory", "opencode", "vault")
BAD = SkippedFile("memory/bad.md", "memory/bad.md is not UTF-8 (byte 3). Save the file as UTF-8.")

CASES: list[tuple[dict[str, Any], SearchedSources, dict[str, Any], str, str]] = [
    ({"sources": ["sessions"]}, memory(missing=True), {}, "sessions_not_indexed", "sessionMemory"),
    ({"sources": ["sessions"]}, memory(NOTE, sources=BOTH), {}, "no_transcripts", "conversation"),
    ({}, memory(missing=True), {}, "workspace_missing", "workspace"),
    ({}, memory(file("s", "sessions"), missing=True, sources=BOTH), {}, "workspace_missing", "workspace"),
    ({}, memory(), {"pending": PendingChanges(2)}, "no_notes", "MEMORY.md or memory/ in /home/ann/notes"),
    ({"sources": ["opencode"]}, memory(NOTE, sources=ADDED), {}, "source_empty", "memctl sources"),
    ({"sources": ["opencode"]}, memory(missing=True, sources=ADDED), {}, "source_empty", "memctl sources"),
    ({"sources": ["vault"]}, memory(NOTE, sources=ADDED), {}, "source_empty", "memctl sources"),
    ({"sources": ["vault"], "project": "x"}, memory(sources=ADDED, projects=["a"]), {}, "source_empty", ""),
    ({"project": "x"}, memory(NOTE, projects=["shop", "blog"]), {}, "project_unknown", "are shop, blog."),
    ({"project": "x"}, memory(NOTE, projects=["a"]), {"pending": PendingChanges(1)}, "indexing", "again"),
    ({"project": "x"}, memory(NOTE, projects=[]), {}, "project_unknown", "names its project"),
    ({"project": "shop"}, memory(NOTE), {}, "no_match", "min_score 0"),
    ({"path": "memory/2026-01-17"}, memory(NOTE), {}, "path_matches_nothing", "Use memory/2026-01-16.md"),
    ({"path": "memroy/"}, memory(NOTE), {}, "path_matches_nothing", "Use memory/ as path"),
    ({"path": f"{WORKSPACE}/memory/"}, memory(NOTE), {}, "path_matches_nothing", "Use memory/ as path"),
    ({"path": "zzz"}, memory(NOTE), {}, "path_matches_nothing", "such as memory/2026-01-16.md"),
    (
        {"path": "memory/link"},
        memory(NOTE, skipped=[SkippedFile("memory/link.md", LINK)]),
        {},
        "path_matches_nothing",
        f"memory/link.md is not indexed: {LINK}",
    ),
    (
        {"path": "memory/bad.md"},
        memory(NOTE, file("memory/bad.md"), refused=[BAD]),
        {},
        "path_matches_nothing",
        "memory/bad.md is not UTF-8 (byte 3). Save the file as UTF-8.",
    ),
    ({"path": "memory/"}, memory(NOTE), {"pending": PendingChanges(3)}, "indexing", "again"),
    ({}, memory(NOTE), {}, "no_match", "min_score 0"),
    ({"min_score": 0.9}, memory(NOTE), {"pending": PendingChanges(0, 9)}, "no_match", "min_score 0"),
    ({"min_score": 0}, memory(NOTE), {}, "no_match", "other words"),
    ({}, memory(NOTE), {"mode": "keyword"}, "no_match", "other words, or with min_score 0"),
]


@pytest.mark.parametrize(("params", "searched", "reply", "code", "hint"), CASES)
def test_empty_reply_has_the_first_applicable_reason(
    params: dict[str, Any], searched: SearchedSources, reply: dict[str, Any], code: str, hint: str
) -> None:
    reason = find_reason(found(**reply), SearchParams("x", **params), searched)

    assert reason.code == code
    assert hint in reason.hint
    assert reason.message.endswith(".")


def test_reply_without_a_scan_of_the_files_has_a_reason() -> None:
    searched = SearchedSources("main", WORKSPACE, {"memory": "notes"})

    assert find_reason(found(), SearchParams("x", path="y"), searched).code == "no_match"
