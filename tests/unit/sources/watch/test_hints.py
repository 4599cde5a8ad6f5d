"""An event hints its own source, and only if the name counts there."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from memd.programs.catalog import Places
from memd.settings.agents import AgentConfig
from memd.settings.schema import MemorySearch
from memd.sources.notes import WorkspaceNotes
from memd.sources.open import open_sources
from memd.sources.watch.queue import Interest
from memd.sources.watch.watcher import Watcher
from tests.support.watching import (
    NO_LIMITS,
    QueueClock,
    WatchedAgent,
    database_at,
    is_followed,
    is_followed_soon,
    list_all,
    transcripts_at,
    vault_at,
    watcher_by,
    watching_by,
    workspace_at,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")


def test_interest_in_some_names_includes_them_alone() -> None:
    interest = Interest("/w", frozenset({"memory"}))
    assert [name for name in ("memory", "Memory", "", "memory.md", "src") if interest.includes(name)] == [
        "memory",
        "Memory",
        "",
    ]
    assert Interest("/w").includes("any.txt")


RELEVANT = {
    "memory": ("memory", ["x.md", "X.MD", ".draft.md", "new/"], ["x.txt", "x.md~", "index.sqlite-wal", ".git/"]),
    "vault": ("", ["x.md", "X.MD", "new/"], ["x.txt", "x.md~", ".obsidian/", "node_modules/"]),
    "sessions": (
        "",
        ["s.jsonl", "s.jsonl.reset.2026", "s.jsonl.deleted.2026-01-06T04-00-00.000Z.zst"],
        ["sessions.json", "x.md", "s.trajectory.jsonl", "s.jsonl.lock", "openclaw-agent.sqlite", "cold/"],
    ),
}  # fmt: skip
"""By source: a folder, and names in it that cause hints or don't; those of folders end with a slash."""


@pytest.mark.parametrize("source", RELEVANT)
def test_names_that_count_cause_hints_and_others_do_not(tmp_path: Path, source: str) -> None:
    folder, yes, no = RELEVANT[source]
    (tmp_path / folder).mkdir(exist_ok=True)
    watcher = watcher_by(QueueClock())
    queue = watcher.queue("ann", source)
    if source == "memory":
        WorkspaceNotes(tmp_path, watch=queue).find()
    else:
        (vault_at if source == "vault" else transcripts_at)(tmp_path)(source, queue).find()

    def is_hinted(name: str) -> bool:
        queue._hints._waiting.clear()
        path = tmp_path / folder / name
        path.mkdir() if name.endswith("/") else path.touch()
        watcher._events.read()
        return queue._hints._waiting == {("ann", source)}

    assert [name for name in yes + no if is_hinted(name)] == yes
    watcher.close()


async def test_database_is_hinted_for_its_own_name_and_that_of_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "talk.db").write_text("pages")
    added = {"database": database_at(folder / "talk.db")}
    agent = WatchedAgent("ann", workspace_at(tmp_path / "ws"), added=added)
    async with watching_by("inotify", agent) as (_, heard):
        await is_followed_soon(tmp_path / "ws" / "memory", heard)
        for name in ("talk.db", "talk.db-wal"):
            (folder / name).write_text("frames")
            await heard.next("ann", "database")
        await trio.sleep(0.2)
        so_far = len(heard.hints)
        for name in ("talk.db-shm", "talk.db-journal", "other.db", "other.db-wal", "settings.json"):
            (folder / name).write_text("x")
        await is_followed(tmp_path / "ws" / "memory", heard)
        assert set(heard.hints[so_far:]) == {("ann", "memory")}


def test_hints_of_openclaws_database_name_the_source_of_its_conversations(tmp_path: Path) -> None:
    settings = MemorySearch(sources=("memory", "sessions"))
    config = AgentConfig("ann", tmp_path / "ws", settings, tmp_path / "index", is_default=True)
    places = Places(tmp_path, {}, "linux")
    watcher = Watcher(lambda *_: None, clock=lambda: 1)
    sources, _ = open_sources(config, tmp_path, places, NO_LIMITS, lambda: 1, partial(watcher.queue, "ann"))
    watcher.watch("ann", lambda: list_all(sources))
    # a sync waits longer for a conversation than for a note, so its schedule must know which it is
    assert {source for _, source in watcher._hints._waiting} == {"memory", "sessions"}
    watcher.close()


async def test_empty_log_of_a_database_causes_no_hint(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "talk.db").write_text("pages")
    added = {"database": database_at(folder / "talk.db")}
    agent = WatchedAgent("ann", workspace_at(tmp_path / "ws"), added=added)
    async with watching_by("inotify", agent) as (_, heard):
        await is_followed_soon(tmp_path / "ws" / "memory", heard)
        await trio.sleep(0.2)
        so_far = len(heard.hints)
        # a reader creates it and deletes it
        (folder / "talk.db-wal").touch()
        await is_followed(tmp_path / "ws" / "memory", heard)
        (folder / "talk.db-wal").unlink()
        await is_followed(tmp_path / "ws" / "memory", heard)
        assert set(heard.hints[so_far:]) == {("ann", "memory")}


def test_link_to_a_vault_that_leads_to_another_folder_is_followed(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(name)
    link = tmp_path / "Vault"
    link.symlink_to("old")
    watcher = watcher_by(QueueClock())
    vault = vault_at(link)("vault", watcher.queue("ann", "vault"))
    assert set(vault.find().files) == {"vault/old.md"}

    link.unlink()
    link.symlink_to("new")
    found = vault.find().files
    assert [vault.load(each).text for each in found.values()] == ["new"]

    (tmp_path / "new" / "more.md").write_text("more")
    assert set(vault.find().files) == {"vault/new.md", "vault/more.md"}
    watcher.close()
