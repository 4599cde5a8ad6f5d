"""The watcher: after the last change the right agent is hinted, whatever happens to the folders.

One contract for inotify, watchfiles and polling.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from memd.settings.schema import ExtraPath
from memd.sources.watch.watcher import Mechanism, WatchState
from tests.support.transcripts import TranscriptHome, message
from tests.support.watching import (
    STEP_S,
    HintRecorder,
    WatchedAgent,
    count_watched,
    database_at,
    is_followed,
    is_followed_soon,
    run_watcher,
    transcripts_at,
    vault_at,
    wait_for_state,
    watched_below,
    watching_by,
    workspace_at,
)

FILES = 200

MECHANISMS: tuple[Mechanism, ...] = ("inotify", "watchfiles", "poll")
if sys.platform != "linux":
    MECHANISMS = MECHANISMS[1:]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")


@pytest.fixture(autouse=True)
def eager_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let polling use a larger share of the processor."""
    monkeypatch.setattr("memd.sources.watch.watcher.POLL_SHARE", 1)


Story = Callable[[Path, HintRecorder], Awaitable[None]]


async def fill_new_folder(workspace: Path, heard: HintRecorder) -> None:
    new = workspace / "memory" / "new"
    new.mkdir()
    for number in range(FILES):
        (new / f"{number}.md").write_text("x")
    await heard.next("ann")
    await is_followed(new, heard)


async def fill_folders_three_deep(workspace: Path, heard: HintRecorder) -> None:
    deep = workspace / "memory" / "a" / "b" / "c"
    for number in range(FILES):
        deep.mkdir(parents=True, exist_ok=True)
        (deep / f"{number}.md").write_text("x")
        (deep.parent / f"{number}.md").write_text("x")
    await heard.next("ann")
    await is_followed(deep, heard)


async def trickle_into_new_folders(workspace: Path, heard: HintRecorder) -> None:
    here = workspace / "memory"
    for depth in range(8):
        await trio.sleep(0.05)
        here = here / str(depth)
        here.mkdir()
        (here / "note.md").write_text("x")
    await heard.next("ann")
    await is_followed(here, heard)


async def save_by_replacing(workspace: Path, heard: HintRecorder) -> None:
    note = workspace / "memory" / "note.md"
    for number in range(4):
        (note.parent / ".note.md.swp").write_text(str(number))
        os.replace(note.parent / ".note.md.swp", note)
        await heard.next("ann")


async def grow_and_delete(workspace: Path, heard: HintRecorder) -> None:
    note = workspace / "memory" / "old" / "note.md"
    note.write_text("one")
    await heard.next("ann")
    with note.open("a") as file:
        file.write("two")
    await heard.next("ann")
    note.unlink()
    await heard.next("ann")
    (workspace / "MEMORY.md").write_text("x")
    await heard.next("ann")


async def make_root_again(workspace: Path, heard: HintRecorder) -> None:
    shutil.rmtree(workspace)
    await heard.next("ann")
    workspace_at(workspace)
    (workspace / "memory" / "note.md").write_text("x")
    await heard.next("ann")
    await is_followed(workspace / "memory", heard)


async def replace_root_in_one_go(workspace: Path, heard: HintRecorder) -> None:
    for number in range(3):
        # the same folders again, maybe with the same inodes: the old watch sees none of them
        shutil.rmtree(workspace)
        workspace_at(workspace, "old")
        (workspace / "memory" / "note.md").write_text("x" * (number + 1))
        await heard.next("ann")
    for folder in (workspace / "memory" / "old", workspace / "memory"):
        await is_followed_soon(folder, heard)


async def rename_root_away_and_back(workspace: Path, heard: HintRecorder) -> None:
    away = workspace.with_name("away")
    os.rename(workspace, away)
    await heard.next("ann")
    (away / "memory" / "note.md").write_text("x")
    away.rename(workspace)
    await heard.next("ann")
    await is_followed(workspace / "memory" / "old", heard)


async def move_folder_in(workspace: Path, heard: HintRecorder) -> None:
    tree = workspace.with_name("tree")
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "note.md").write_text("x")
    tree.rename(workspace / "memory" / "tree")
    await heard.next("ann")
    await is_followed(workspace / "memory" / "tree" / "deep", heard)


STORIES: tuple[Story, ...] = (
    fill_new_folder,
    fill_folders_three_deep,
    trickle_into_new_folders,
    save_by_replacing,
    grow_and_delete,
    make_root_again,
    replace_root_in_one_go,
    rename_root_away_and_back,
    move_folder_in,
)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("story", STORIES, ids=[story.__name__ for story in STORIES])
async def test_every_change_is_hinted(tmp_path: Path, mechanism: Mechanism, story: Story) -> None:
    workspace = workspace_at(tmp_path / "ws", "old")
    (workspace / "memory" / "old" / "first.md").write_text("x")
    async with watching_by(mechanism, WatchedAgent("ann", workspace)) as (watcher, heard):
        expected = "polling" if mechanism == "poll" else "events"
        await wait_for_state(lambda: watcher.state("ann").mode == expected)
        await is_followed(workspace / "memory" / "old", heard)
        await story(workspace, heard)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_root_missing_at_the_start_is_watched(tmp_path: Path, mechanism: Mechanism) -> None:
    workspace = tmp_path / "not" / "yet" / "ws"
    async with watching_by(mechanism, WatchedAgent("ann", workspace)) as (_, heard):
        (workspace_at(workspace) / "memory" / "note.md").write_text("x")
        await is_followed_soon(workspace / "memory", heard)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_renamed_distant_parent_folder_is_detected(tmp_path: Path, mechanism: Mechanism) -> None:
    workspace = workspace_at(tmp_path / "x" / "y" / "ws")
    async with watching_by(mechanism, WatchedAgent("ann", workspace), recheck_s=0.2) as (_, heard):
        # a new tree replaces the watched one, while no watched folder itself was moved
        workspace_at(tmp_path / "new" / "y" / "ws")
        (tmp_path / "new" / "y" / "ws" / "MEMORY.md").write_text("x")
        (tmp_path / "x").rename(tmp_path / "gone")
        (tmp_path / "new").rename(tmp_path / "x")
        await heard.next("ann")
        await is_followed_soon(workspace / "memory", heard)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_two_names_of_one_workspace_hint_both_agents(tmp_path: Path, mechanism: Mechanism) -> None:
    workspace = workspace_at(tmp_path / "ws")
    (tmp_path / "alias").symlink_to(workspace)
    agents = (WatchedAgent("ann", workspace), WatchedAgent("bob", tmp_path / "alias"))
    async with watching_by(mechanism, *agents) as (_, heard):
        await is_followed_soon(workspace / "memory", heard)
        so_far = len(heard.hints)
        (workspace / "memory" / "note.md").write_text("x")
        await wait_for_state(lambda: set(heard.hints[so_far:]) == {("ann", "memory"), ("bob", "memory")})


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_extra_paths_vaults_and_transcripts_cause_hints_of_their_source(
    tmp_path: Path, mechanism: Mechanism
) -> None:
    folder, single, sessions = tmp_path / "docs", tmp_path / "other" / "one.md", tmp_path / "a" / "sessions"
    single.parent.mkdir()
    extras = (ExtraPath(path=str(folder)), ExtraPath(path="../other/one.md"))
    added = {"vault": vault_at(tmp_path / "vault"), "sessions": transcripts_at(sessions)}
    agent = WatchedAgent("ann", workspace_at(tmp_path / "ws"), extras, added)
    async with watching_by(mechanism, agent) as (_, heard):
        await wait_for_state(lambda: {("ann", name) for name in ("memory", *added)} <= set(heard.hints))
        # a folder, a file, a vault and transcripts are created after the start
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "note.md").write_text("x")
        await is_followed_soon(folder / "deep", heard)
        for text in ("one", "other"):
            (single.parent / "one.md.tmp").write_text(text)
            os.replace(single.parent / "one.md.tmp", single)
            await heard.next("ann")
        (tmp_path / "vault").mkdir()
        await is_hinted_soon(tmp_path / "vault" / "note.md", heard, "vault")
        sessions.mkdir(parents=True)
        await is_hinted_soon(sessions / "s.jsonl", heard, "sessions")


async def is_hinted_soon(file: Path, heard: HintRecorder, source: str) -> None:
    """Assert that a growing file causes a hint, now or once its folder is watched."""
    so_far = len(heard.hints)
    with trio.fail_after(120):
        while ("ann", source) not in heard.hints[so_far:]:
            with file.open("a") as lines:
                lines.write("{}\n")
            await trio.sleep(0.1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_note_in_a_vault_is_hinted_as_soon_as_one_in_the_workspace(
    tmp_path: Path, mechanism: Mechanism
) -> None:
    (tmp_path / "vault" / "deep").mkdir(parents=True)
    agent = WatchedAgent("ann", workspace_at(tmp_path / "ws"), added={"vault": vault_at(tmp_path / "vault")})
    async with watching_by(mechanism, agent) as (_, heard):
        await is_followed_soon(tmp_path / "ws" / "memory", heard)
        await is_hinted_soon(tmp_path / "vault" / "deep" / "first.md", heard, "vault")
        # a change of both is followed by a hint of each
        for number in range(3):
            so_far = len(heard.hints)
            for folder in (tmp_path / "ws" / "memory", tmp_path / "vault" / "deep"):
                (folder / "note.md").write_text("x" * (number + 1))
            await wait_for_state(
                lambda so_far=so_far: set(heard.hints[so_far:]) == {("ann", "memory"), ("ann", "vault")}  # type: ignore[misc]
            )


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_conversation_in_a_database_is_hinted(tmp_path: Path, mechanism: Mechanism) -> None:
    home = TranscriptHome(tmp_path)
    agent = WatchedAgent("ann", workspace_at(tmp_path / "ws"), added={"database": database_at(home.database)})
    async with watching_by(mechanism, agent) as (_, heard):
        # the database is created after the start, in a new folder
        with home.open_database() as database:
            number = 0
            so_far = len(heard.hints)
            with trio.fail_after(120):
                while ("ann", "database") not in heard.hints[so_far:]:
                    database.add_session(f"s{number}", [message("user", "x")])
                    number += 1
                    await trio.sleep(0.1)
            # each addition is hinted, which changes only its log
            for _ in range(3):
                await trio.sleep(0.1)
                before = home.database.stat()
                database.append("s0", [message("user", "more")])
                assert home.database.stat() == before
                await heard.next("ann", "database")
        # so is each by a program that opens it only for that
        for _ in range(2):
            await trio.sleep(0.1)
            with home.open_database() as database:
                database.append("s0", [message("user", "more")])
            await heard.next("ann", "database")


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_sources_can_change_while_the_watcher_runs(tmp_path: Path, mechanism: Mechanism) -> None:
    ann, bob, extra = workspace_at(tmp_path / "ann"), workspace_at(tmp_path / "bob"), tmp_path / "extra"
    extra.mkdir()
    async with watching_by(mechanism, WatchedAgent("ann", ann)) as (watcher, heard):
        heard.follow(watcher, WatchedAgent("bob", bob))
        await heard.next("bob")
        heard.follow(watcher, WatchedAgent("bob", bob, (ExtraPath(path=str(extra)),)))
        await heard.next("bob")
        (extra / "note.md").write_text("x")
        await heard.next("bob")
        # an agent that is forgotten gets no more hints
        watcher.forget("bob")
        watcher.forget("bob")
        assert watcher.state("bob") == WatchState("off")
        so_far = len(heard.hints)
        (extra / "note.md").write_text("y")
        (ann / "memory" / "note.md").write_text("x")
        await heard.next("ann")
        assert {agent for agent, _ in heard.hints[so_far:]} == {"ann"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_name_that_is_not_utf8_does_not_stop_the_watcher(tmp_path: Path, mechanism: Mechanism) -> None:
    memory = workspace_at(tmp_path / "ws") / "memory"
    async with watching_by(mechanism, WatchedAgent("ann", tmp_path / "ws"), retry_s=0.5) as (watcher, heard):
        await is_followed_soon(memory, heard)
        os.close(os.open(os.fsencode(memory) + b"/caf\xe9.md", os.O_CREAT | os.O_WRONLY))  # Latin-1
        if mechanism == "watchfiles":
            await wait_for_state(lambda: "not UTF-8; rename it" in watcher.state("ann").reason)
        else:
            await heard.next("ann")
        for text in ("one", "two", "three"):
            (memory / f"{text}.md").write_text(text)
            await heard.next("ann")


@pytest.mark.parametrize("mechanism", ["inotify", "poll"])
@on_linux
async def test_irrelevant_changes_cause_no_hint(tmp_path: Path, mechanism: Mechanism) -> None:
    # a workspace next to the indexes, one that contains them, transcripts, and a vault
    state, sessions, vault = workspace_at(tmp_path / "state"), tmp_path / "sessions", tmp_path / "vault"
    sessions.mkdir()
    vault.mkdir()
    added = {"sessions": transcripts_at(sessions), "vault": vault_at(vault)}
    beside = WatchedAgent("ann", workspace_at(state / "workspace"), added=added)
    linked = tmp_path / "linked"
    linked.mkdir()
    (state / "workspace" / "memory" / "link").symlink_to(linked)
    async with watching_by(mechanism, beside, WatchedAgent("bob", state)) as (_, heard):
        await is_followed_soon(state / "workspace" / "memory", heard)
        await trio.sleep(0.2)
        so_far = len(heard.hints)
        for name in ("main.sqlite", "main.sqlite-wal", "main.sqlite-shm", "main.sqlite-journal", "a.md.tmp"):
            (state / "memory" / name).write_text("x")
            (state / "memory" / name).write_text("y")
        (state / "memory" / "main.sqlite-wal").unlink()
        for name in ("tool.py", "README.md", "memory/.hidden.txt"):
            (state / "workspace" / name).write_text("x")
        for name in ("src", "memory/.git", "memory/venv"):
            (state / "workspace" / name).mkdir()
        (state / "openclaw.json").write_text("{}")
        (linked / "note.md").write_text("links are not followed")
        (sessions / "sessions.json").write_text("{}")
        (vault / ".obsidian").mkdir()
        (vault / "picture.png").write_text("x")
        (state / "workspace" / "memory" / "last.md").write_text("x")
        await heard.next("ann")
        assert heard.hints[so_far:] == [("ann", "memory")]


@pytest.mark.parametrize("mechanism", ["inotify", "poll"])
@on_linux
async def test_only_the_affected_agent_is_hinted(tmp_path: Path, mechanism: Mechanism) -> None:
    agents = [WatchedAgent(name, workspace_at(tmp_path / name)) for name in ("ann", "bob")]
    async with watching_by(mechanism, *agents) as (_, heard):
        await is_followed_soon(tmp_path / "ann" / "memory", heard)
        await trio.sleep(0.2)
        so_far = len(heard.hints)
        # a note, a folder with a note and a deleted root, all of one agent
        await is_followed(tmp_path / "ann" / "memory", heard)
        (tmp_path / "ann" / "memory" / "new").mkdir()
        await is_followed(tmp_path / "ann" / "memory" / "new", heard)
        shutil.rmtree(tmp_path / "ann")
        await heard.next("ann")
        # the other gets no hint before its own change
        assert set(heard.hints[so_far:]) == {("ann", "memory")}
        (tmp_path / "bob" / "memory" / "note.md").write_text("x")
        await heard.next("bob")


@on_linux
async def test_only_relevant_folders_are_watched(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path / "ws", "a/b", ".git/x", "node_modules/y")
    (workspace / "src").mkdir()
    for folder in (
        "docs/deep",
        "other",
        "big/tree",
        "sessions/below",
        "home",
        "program/x",
        "vault/deep",
        "vault/.trash",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "other" / "one.md").write_text("x")
    (workspace / "memory" / "link").symlink_to(tmp_path / "big")
    (tmp_path / "home" / "ws").symlink_to(workspace)
    extras = (ExtraPath(path=str(tmp_path / "docs")), ExtraPath(path=str(tmp_path / "other" / "one.md")))
    added = {
        "sessions": transcripts_at(tmp_path / "sessions"),
        "vault": vault_at(tmp_path / "vault"),
        "database": database_at(tmp_path / "program" / "talk.db"),
    }
    agent = WatchedAgent("ann", tmp_path / "home" / "ws", extras, added)
    async with run_watcher(agent) as (watcher, _):
        expected = [".", "docs", "docs/deep", "home", "home/ws", "home/ws/memory", "home/ws/memory/a"]
        expected += ["home/ws/memory/a/b", "other", "program", "sessions", "vault", "vault/deep"]
        assert watched_below(watcher, tmp_path) == expected


@on_linux
async def test_nearest_existing_folder_above_a_missing_root_is_watched(tmp_path: Path) -> None:
    async with run_watcher(WatchedAgent("ann", tmp_path / "home" / "ann" / "ws")) as (watcher, _):
        assert watched_below(watcher, tmp_path) == ["."]


@on_linux
async def test_two_hundred_new_folders_cause_few_scans(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path / "ws")
    async with run_watcher(WatchedAgent("ann", workspace)) as (watcher, heard):
        so_far, began_s = len(heard.hints), trio.current_time()
        for number in range(FILES):
            (workspace / "memory" / str(number)).mkdir()
            await trio.sleep(0.002)
        took_s = trio.current_time() - began_s
        await wait_for_state(lambda: count_watched(watcher) == 3 + FILES)
        assert len(heard.hints) - so_far <= 2 + took_s / STEP_S
        await is_followed(workspace / "memory" / "199", heard)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors can't be listed here")
@pytest.mark.parametrize(("mechanism", "held"), [("inotify", 1), ("watchfiles", 1), ("poll", 0)])
async def test_one_inotify_instance_serves_all_agents_and_is_closed(
    tmp_path: Path, mechanism: Mechanism, held: int
) -> None:
    def instances() -> int:
        count = 0
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed since
                count += "inotify" in os.readlink(f"/proc/self/fd/{name}")
        return count

    agents = [WatchedAgent(name, workspace_at(tmp_path / name)) for name in ("ann", "bob")]
    await wait_for_state(lambda: instances() == 0)
    async with watching_by(mechanism, *agents) as (_, heard):
        await is_followed_soon(tmp_path / "ann" / "memory", heard)
        await wait_for_state(lambda: instances() == held)
    await wait_for_state(lambda: instances() == 0)


@on_linux
async def test_mechanism_can_change_while_the_watcher_runs(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path / "ws")
    async with run_watcher(WatchedAgent("ann", workspace), poll_s=0.05) as (watcher, heard):
        for mechanism in ("poll", "watchfiles", "inotify", "poll", "auto"):
            watcher.use(mechanism)
            await wait_for_state(
                lambda: (watcher.state("ann").mode == "polling") == (watcher._mechanism == "poll")
            )
            await is_followed_soon(workspace / "memory", heard)


async def test_without_agents_nothing_is_watched() -> None:
    async with run_watcher() as (watcher, heard):
        assert repr(watcher) == "<Watcher of 0 agents, 0 polled, 0 folders armed>"
        assert watcher.state("ann").mode == "off"
        assert heard.hints == []
