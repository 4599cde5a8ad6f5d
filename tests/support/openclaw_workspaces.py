"""Workspaces with curated memory in every form, and the parts that OpenClaw puts into a system prompt.

`CASES` is the table of `docs/openclaw-plugin.md`; `tests/interop/test_openclaw_memory_context.py` runs every case.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link to a path in the workspace or, with `outside`, in a folder next to it."""

    target: str
    outside: bool = False


@dataclass(frozen=True, slots=True)
class HardLink:
    """A hard link to a file in the folder outside."""

    target: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with a file's name."""


Entry = str | bytes | SymbolicLink | HardLink | Folder


@dataclass(frozen=True, slots=True)
class WorkspaceCase:
    """One workspace and the files that OpenClaw loads."""

    name: str
    about: str
    entries: Mapping[str, Entry]
    loaded: tuple[str, ...] = ()
    records: Mapping[str, Literal["agent", "untrusted"]] = field(default_factory=dict)
    root: Literal["folder", "link", "missing"] = "folder"
    daemon: Literal["running", "hung", "down"] = "running"

    @property
    def agent(self) -> str:
        """The agent of the workspace: its own if OpenClaw remembers the state of the workspace."""
        return "main" if self.root == "folder" else self.name


FACTS: Final = "# Facts\n\n- The staging gateway listens on port 8443.\n- Reviews are on Thursdays.\n"
USER: Final = "# User\n\nAda, in Prague. Short replies.\n"
NOTE: Final = "# 2026-03-04\n\nLunch was soup.\n"
DREAM: Final = "# Dreams\n\nThe gateway was a marmalade jar.\n"
AGENTS: Final = "# Agents\n\nBe brief.\n"
BOTH: Final = {"MEMORY.md": FACTS, "USER.md": USER}
LOADED_BOTH: Final = ("USER.md", "MEMORY.md")

LARGE: Final = "# Facts\n\n" + "".join(f"- Fact {number} about the harbour.\n" for number in range(12_000))
"""More than OpenClaw puts of one file into a prompt (20,000 characters), and less than it reads."""

HUGE: Final = "# Facts\n" + "- One more fact about the harbour.\n" * 70_000
"""More than the 2 MiB that OpenClaw reads of a file."""

ANNOTATED: Final = (
    "# Facts\n\n- <!-- importance: 5 --> The port is 8443.\n"
    "- <!-- trigger: deploy; release --> Ask Grace before a release.\n"
    "- <!-- project: example.org/harbour --> The crane's queue is in Redis.\n"
)

CASES: Final = (
    WorkspaceCase("nothing", "no memory", {"AGENTS.md": AGENTS}),
    WorkspaceCase("memory", "`MEMORY.md`", {"MEMORY.md": FACTS}, ("MEMORY.md",)),
    WorkspaceCase("user", "`USER.md`", {"USER.md": USER}, ("USER.md",)),
    WorkspaceCase("both", "`MEMORY.md` and `USER.md`", {"AGENTS.md": AGENTS, **BOTH}, LOADED_BOTH),
    WorkspaceCase("lowercase", "`memory.md` alone", {"memory.md": FACTS}),
    WorkspaceCase(
        "two-cases", "`MEMORY.md` and `memory.md`", {"MEMORY.md": FACTS, "memory.md": NOTE}, ("MEMORY.md",)
    ),
    WorkspaceCase("other-cases", "`Memory.md` and `user.md`", {"Memory.md": FACTS, "user.md": USER}),
    WorkspaceCase(
        "profile",
        "`MEMORY.md`, and `users/<id>/USER.md` of a person who isn't signed in",
        {"MEMORY.md": FACTS, "users/grace/USER.md": USER},
        ("MEMORY.md",),
    ),
    WorkspaceCase("empty", "both files, empty", {"MEMORY.md": "", "USER.md": ""}),
    WorkspaceCase("large", "`MEMORY.md` of 370 kB, and `USER.md`", {**BOTH, "MEMORY.md": LARGE}, LOADED_BOTH),
    WorkspaceCase(
        "huge", "`MEMORY.md` above 2 MiB, and `USER.md`", {**BOTH, "MEMORY.md": HUGE}, ("USER.md",)
    ),
    WorkspaceCase(
        "not-utf8",
        "`MEMORY.md` that is not UTF-8",
        {"MEMORY.md": b"# Facts\n\nCaf\xe9 \xff\xfe\n"},
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "bom",
        "`MEMORY.md` with a byte order mark and CRLF",
        {"MEMORY.md": b"\xef\xbb\xbf# Facts\r\n\r\nThe port is 8443.\r\n"},
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "annotated",
        "`MEMORY.md` with triggers, projects and importance",
        {"MEMORY.md": ANNOTATED},
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "link-inside",
        "`USER.md`, and `MEMORY.md` as a link to `memory/curated.md`",
        {**BOTH, "memory/curated.md": FACTS, "MEMORY.md": SymbolicLink("memory/curated.md")},
        ("USER.md",),
    ),
    WorkspaceCase(
        "link-no-memory",
        "`USER.md`, and `MEMORY.md` as a link to another file of the workspace",
        {**BOTH, "drafts/facts.md": FACTS, "MEMORY.md": SymbolicLink("drafts/facts.md")},
        ("USER.md",),
    ),
    WorkspaceCase(
        "link-outside",
        "`USER.md`, and `MEMORY.md` as a link out of the workspace",
        {**BOTH, "MEMORY.md": SymbolicLink("MEMORY.md", outside=True)},
        ("USER.md",),
    ),
    WorkspaceCase(
        "link-broken",
        "`USER.md`, and `MEMORY.md` as a broken link",
        {**BOTH, "MEMORY.md": SymbolicLink("gone.md")},
        ("USER.md",),
    ),
    WorkspaceCase(
        "link-user",
        "`MEMORY.md`, and `USER.md` as a link to it",
        {"MEMORY.md": FACTS, "USER.md": SymbolicLink("MEMORY.md")},
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "link-dream",
        "`USER.md`, and `MEMORY.md` as a link into `memory/dreaming`",
        {**BOTH, "memory/dreaming/deep.md": DREAM, "MEMORY.md": SymbolicLink("memory/dreaming/deep.md")},
        ("USER.md",),
    ),
    WorkspaceCase(
        "linked-folder",
        "`MEMORY.md`, and `memory` as a link out of the workspace",
        {"MEMORY.md": FACTS, "memory": SymbolicLink("memory", outside=True)},
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "hard-link",
        "`USER.md`, and `MEMORY.md` as a hard link",
        {**BOTH, "MEMORY.md": HardLink("MEMORY.md")},
        ("USER.md",),
    ),
    WorkspaceCase(
        "folder", "`USER.md`, and `MEMORY.md` as a folder", {**BOTH, "MEMORY.md": Folder()}, ("USER.md",)
    ),
    WorkspaceCase(
        "dreams",
        "`MEMORY.md`, `DREAMS.md`, `memory/dreaming`, `memory/.dreams`",
        {
            "MEMORY.md": FACTS,
            "DREAMS.md": DREAM,
            "memory/dreaming/deep/2026-03-04.md": DREAM,
            "memory/.dreams/short-term-recall.json": "{}",
        },
        ("MEMORY.md",),
    ),
    WorkspaceCase(
        "daily-notes", "daily notes alone", {"memory/2026-03-04.md": NOTE, "memory/2026-03-05.md": NOTE}
    ),
    WorkspaceCase(
        "notes-and-both", "daily notes and both files", {**BOTH, "memory/2026-03-04.md": NOTE}, LOADED_BOTH
    ),
    WorkspaceCase(
        "extra-path", "no memory, and `MEMORY.md` in a folder of `extraPaths`", {"AGENTS.md": AGENTS}
    ),
    WorkspaceCase("hung", "both files, memd's daemon hung", BOTH, LOADED_BOTH, daemon="hung"),
    WorkspaceCase("down", "both files, memd's daemon not running", BOTH, LOADED_BOTH, daemon="down"),
    WorkspaceCase(
        "poisoned",
        "both files, `MEMORY.md` recorded as untrusted",
        BOTH,
        ("USER.md",),
        {"MEMORY.md": "untrusted"},
        daemon="down",
    ),
    WorkspaceCase(
        "linked-workspace",
        "both files in a workspace that is a link, `MEMORY.md` recorded as the agent's, `USER.md` as untrusted",
        BOTH,
        ("MEMORY.md",),
        {"MEMORY.md": "agent", "USER.md": "untrusted"},
        root="link",
    ),
    WorkspaceCase("missing-workspace", "a workspace that does not exist", {}, root="missing"),
)


def outside_folder(workspace: Path) -> Path:
    """Return the folder next to a workspace that links point to."""
    return workspace.with_name(f"{workspace.name}-outside")


def build(case: WorkspaceCase, workspace: Path) -> None:
    """Replace the contents of a workspace by those of a case."""
    outside = outside_folder(workspace)
    _remove(workspace)
    _remove(outside)
    (outside / "memory").mkdir(parents=True)
    (outside / "MEMORY.md").write_text(FACTS)
    (outside / "memory" / "2026-03-04.md").write_text(NOTE)
    if case.root == "missing":
        return
    if case.root == "link":
        (outside / "workspace").mkdir()
        workspace.symlink_to(outside / "workspace")
    else:
        workspace.mkdir(parents=True)
    for name, entry in case.entries.items():
        _write(workspace, name, entry, outside)


def table() -> str:
    """Return the table for the documentation: its two columns are equal, as the interop test checks."""
    rows = [("workspace", "memory-core", "memd"), ("---", "---", "---")]
    for case in CASES:
        loaded = ", ".join(f"`{name}`" for name in case.loaded) or "–"
        rows.append((case.about, loaded, loaded))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("| --- | --- | --- |", "|---|---|---|")


def _write(workspace: Path, name: str, entry: Entry, outside: Path) -> None:
    place = workspace / name
    place.parent.mkdir(parents=True, exist_ok=True)
    match entry:
        case str():
            place.write_text(entry, encoding="utf-8")
        case bytes():
            place.write_bytes(entry)
        case SymbolicLink(target, outside=True):
            place.symlink_to(outside / target)
        case SymbolicLink(target):
            place.symlink_to(workspace / target)
        case HardLink(target):
            os.link(outside / target, place)
        case Folder():
            place.mkdir()


def _remove(place: Path) -> None:
    if place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)
