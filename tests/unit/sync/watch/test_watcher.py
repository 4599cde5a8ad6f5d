"""The watcher: after the last change a hint comes, for the right agent, whatever happens to the folders."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from memd.settings.schema import ExtraPath
from memd.sync.watch.events import STEP_MS, FileEvents
from memd.sync.watch.watcher import Watcher, WatchPlan, WatchState
from tests.support.watching import Heard, armed, reached, watching, workspace_at

FILES = 200

Story = Callable[[Path, Watcher, Heard], Awaitable[None]]


def _tell(tmp_path: Path, story: Story) -> None:
    """Run a story of one agent, whose workspace is `ws` and has one folder below `memory`."""

    async def main() -> None:
        workspace = workspace_at(tmp_path / "ws", "old")
        async with watching(WatchPlan("ann", workspace)) as (watcher, heard):
            assert watcher.state("ann") == WatchState("events", "", 1_000)
            assert armed(watcher) == 4
            await story(workspace, watcher, heard)

    trio.run(main)


def _touch(path: bytes) -> None:
    """Make a file whose name may be anything, or open it for writing."""
    with open(path, "w"):
        pass


async def _is_followed(folder: Path, heard: Heard) -> None:
    """Hold that changes in a folder are noticed, and not by a watch that ends in a moment."""
    for text in ("one", "two", "three"):
        (folder / "one-more.md").write_text(text)
        await heard.next("ann")


def test_files_created_right_after_their_folder_are_hinted(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        new = workspace / "memory" / "new"
        new.mkdir()
        for number in range(FILES):
            (new / f"{number}.md").write_text("x")
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 5)
        await _is_followed(new, heard)

    _tell(tmp_path, story)


def test_files_created_right_after_folders_three_deep_are_hinted(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        deep = workspace / "memory" / "a" / "b" / "c"
        for number in range(FILES):
            deep.mkdir(parents=True, exist_ok=True)
            (deep / f"{number}.md").write_text("x")
            (deep.parent / f"{number}.md").write_text("x")
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 7)
        await _is_followed(deep, heard)

    _tell(tmp_path, story)


def test_files_that_trickle_into_new_folders_are_hinted(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        # given folders that appear while the watch over the ones before is being armed
        here = workspace / "memory"
        for depth in range(8):
            await trio.sleep(0.1)
            here = here / str(depth)
            here.mkdir()
            (here / "note.md").write_text("x")
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 12)
        await _is_followed(here, heard)

    _tell(tmp_path, story)


def test_a_note_saved_by_replacing_it_is_hinted_each_time(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        note = workspace / "memory" / "note.md"
        for number in range(4):
            (note.parent / ".note.md.swp").write_text(str(number))
            os.replace(note.parent / ".note.md.swp", note)
            await heard.next("ann")
        assert armed(watcher) == 4

    _tell(tmp_path, story)


def test_a_note_is_hinted_when_it_grows_and_when_it_goes(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
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

    _tell(tmp_path, story)


def test_a_root_deleted_and_made_again_is_followed(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        shutil.rmtree(workspace)
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 1)
        workspace_at(workspace)
        (workspace / "memory" / "note.md").write_text("x")
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 3)
        await _is_followed(workspace / "memory", heard)

    _tell(tmp_path, story)


def test_a_root_replaced_in_one_go_is_followed(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        for _ in range(3):
            # given the same folders anew, maybe with the same inodes: the old watch sees none of them
            shutil.rmtree(workspace)
            workspace_at(workspace, "old")
            (workspace / "memory" / "note.md").write_text("x")
            await heard.next("ann")
        for folder in (workspace / "memory" / "old", workspace / "memory"):
            await _is_armed_anew(watcher, folder, heard)

    _tell(tmp_path, story)


async def _is_armed_anew(watcher: Watcher, folder: Path, heard: Heard) -> None:
    """Hold that changes in a folder are noticed soon: it may be armed a moment after the last hint."""
    so_far = len(heard.hints)
    number = 0
    with trio.fail_after(20):
        while len(heard.hints) == so_far:
            (folder / f"{number}.md").write_text("x")
            number += 1
            await trio.sleep(0.3)
    await _is_followed(folder, heard)


def test_a_root_renamed_away_and_back_is_followed(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        os.rename(workspace, tmp_path / "away")
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 1)
        (tmp_path / "away" / "memory" / "note.md").write_text("x")
        (tmp_path / "away").rename(workspace)
        await heard.next("ann")
        await reached(lambda: armed(watcher) == 4)
        await _is_followed(workspace / "memory" / "old", heard)

    _tell(tmp_path, story)


def test_a_root_that_was_not_there_at_the_start_is_followed(tmp_path: Path) -> None:
    async def main() -> None:
        workspace = tmp_path / "not" / "yet" / "ws"
        async with watching(WatchPlan("ann", workspace)) as (watcher, heard):
            assert armed(watcher) == 1
            (workspace_at(workspace) / "memory" / "note.md").write_text("x")
            await heard.next("ann")
            await reached(lambda: armed(watcher) == 3)
            await _is_followed(workspace / "memory", heard)

    trio.run(main)


def test_a_folder_renamed_far_above_is_found_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        workspace = workspace_at(tmp_path / "x" / "y" / "ws")
        async with watching(WatchPlan("ann", workspace), recheck_s=0.2) as (_, heard):
            # given a new tree in the place of the watched one, with nothing watched having moved itself
            workspace_at(tmp_path / "new" / "y" / "ws")
            (tmp_path / "x").rename(tmp_path / "gone")
            (tmp_path / "new").rename(tmp_path / "x")
            await heard.next("ann")
            await _is_followed(workspace / "memory", heard)

    trio.run(main)


def test_a_name_that_is_not_utf8_makes_its_folder_polled_until_it_is_gone(tmp_path: Path) -> None:
    async def main() -> None:
        ann, bob = workspace_at(tmp_path / "ann"), workspace_at(tmp_path / "bob")
        odd = os.fsencode(ann / "memory") + b"/caf\xe9.md"  # Latin-1
        plans = (WatchPlan("ann", ann), WatchPlan("bob", bob))
        async with watching(*plans, poll_s=0.05, recheck_s=0.2) as (watcher, heard):
            _touch(odd)
            await reached(lambda: watcher.state("ann").mode == "polling")
            assert "ann/memory holds a file name that is not UTF-8" in watcher.state("ann").reason
            assert watcher.state("bob").mode == "events"
            # then its notes are noticed all the same, however often the name is touched
            for number in range(3):
                _touch(odd)
                (ann / "memory" / "note.md").write_text(str(number))
                await heard.next("ann")
            (bob / "memory" / "note.md").write_text("x")
            await heard.next("bob")
            # and events carry on once it is gone
            os.unlink(odd)
            await reached(lambda: watcher.state("ann") == WatchState("events", "", 1_000))
            await reached(lambda: armed(watcher) == 5)
            await _is_followed(ann / "memory", heard)

    trio.run(main)


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    async def story(workspace: Path, watcher: Watcher, heard: Heard) -> None:
        (tmp_path / "big" / "tree").mkdir(parents=True)
        (workspace / "memory" / "link").symlink_to(tmp_path / "big")
        (workspace / "memory" / "note.md").write_text("x")
        await heard.next("ann")
        so_far = len(heard.hints)
        (tmp_path / "big" / "note.md").write_text("x")
        (tmp_path / "big" / "tree" / "note.md").write_text("x")
        (workspace / "memory" / "last.md").write_text("x")
        await heard.next("ann")
        assert armed(watcher) == 4
        assert len(heard.hints) == so_far + 1

    _tell(tmp_path, story)


def test_only_the_agent_concerned_is_hinted(tmp_path: Path) -> None:
    async def main() -> None:
        plans = [WatchPlan(name, workspace_at(tmp_path / name)) for name in ("ann", "bob")]
        async with watching(*plans) as (watcher, heard):
            # given a note, a new folder and a root that goes, all of one agent
            (tmp_path / "ann" / "memory" / "note.md").write_text("x")
            assert set(await heard.next("ann")) == {("ann", "memory")}
            (tmp_path / "ann" / "memory" / "new").mkdir()
            await reached(lambda: armed(watcher) == 6)
            shutil.rmtree(tmp_path / "ann")
            await reached(lambda: armed(watcher) == 3)
            # then the other hears nothing until its own
            assert ("bob", "memory") not in heard.hints[2:]
            (tmp_path / "bob" / "memory" / "note.md").write_text("x")
            await heard.next("bob")

    trio.run(main)


def test_two_names_of_one_workspace_hint_both_agents(tmp_path: Path) -> None:
    async def main() -> None:
        workspace = workspace_at(tmp_path / "ws")
        (tmp_path / "alias").symlink_to(workspace)
        async with watching(WatchPlan("ann", workspace), WatchPlan("bob", tmp_path / "alias")) as (_, heard):
            (workspace / "memory" / "note.md").write_text("x")
            assert set(await heard.next("bob")) == {("ann", "memory"), ("bob", "memory")}

    trio.run(main)


def test_files_that_can_not_matter_give_no_hint(tmp_path: Path) -> None:
    async def main() -> None:
        # given a workspace beside the indexes, and one that holds them
        state = workspace_at(tmp_path / "state")
        beside, around = WatchPlan("ann", workspace_at(state / "workspace")), WatchPlan("bob", state)
        async with watching(beside, around) as (_, heard):
            so_far = len(heard.hints)
            for name in ("main.sqlite", "main.sqlite-wal", "main.sqlite-shm", "main.sqlite-journal"):
                (state / "memory" / name).write_text("x")
                (state / "memory" / name).write_text("y")
            (state / "memory" / "main.sqlite-wal").unlink()
            (state / "workspace" / "tool.py").write_text("x")
            (state / "workspace" / "README.md").write_text("x")
            (state / "workspace" / "src").mkdir()
            (state / "openclaw.json").write_text("{}")
            (state / "workspace" / "memory" / "last.md").write_text("x")
            await heard.next("ann")
            assert heard.hints[so_far:] == [("ann", "memory")]

    trio.run(main)


def test_transcripts_are_hinted_as_such(tmp_path: Path) -> None:
    async def main() -> None:
        sessions = tmp_path / "agents" / "ann" / "sessions"
        plan = WatchPlan("ann", workspace_at(tmp_path / "ws"), (), (sessions,))
        async with watching(plan) as (watcher, heard):
            assert sorted(heard.hints) == [("ann", "memory"), ("ann", "sessions")]
            sessions.mkdir(parents=True)
            await reached(lambda: armed(watcher) == 5)
            (sessions / "s.jsonl").write_text("{}\n")
            assert set(await heard.next("ann", "sessions")) == {("ann", "sessions")}

    trio.run(main)


def test_a_plan_may_change_while_the_watcher_runs(tmp_path: Path) -> None:
    async def main() -> None:
        ann, bob, extra = workspace_at(tmp_path / "ann"), workspace_at(tmp_path / "bob"), tmp_path / "extra"
        extra.mkdir()
        async with watching(WatchPlan("ann", ann)) as (watcher, heard):
            watcher.watch(WatchPlan("bob", bob))
            await heard.next("bob")
            watcher.watch(WatchPlan("bob", bob, (ExtraPath(path=str(extra)),)))
            await heard.next("bob")
            (extra / "note.md").write_text("x")
            await heard.next("bob")
            # when an agent is forgotten, it is heard of no more
            watcher.forget("bob")
            watcher.forget("bob")
            assert watcher.state("bob") == WatchState("off")
            so_far = len(heard.hints)
            (extra / "note.md").write_text("y")
            (ann / "memory" / "note.md").write_text("x")
            await heard.next("ann")
            assert {agent for agent, _ in heard.hints[so_far:]} == {"ann"}

    trio.run(main)


def test_two_hundred_new_folders_are_armed_few_times(tmp_path: Path) -> None:
    armings: list[int] = []

    def arm(folders: list[str], step_ms: int) -> FileEvents:
        armings.append(len(folders))
        return FileEvents(folders, step_ms)

    async def main() -> None:
        workspace = workspace_at(tmp_path / "ws")
        async with watching(WatchPlan("ann", workspace), arm=arm, step_ms=STEP_MS) as (watcher, heard):
            began_s = trio.current_time()
            for number in range(FILES):
                (workspace / "memory" / str(number)).mkdir()
                await trio.sleep(0.002)
            took_s = trio.current_time() - began_s
            await reached(lambda: armed(watcher) == 3 + FILES)
            await _is_followed(workspace / "memory" / "199", heard)
        assert len(armings) <= 4 + took_s / (3 * STEP_MS / 1000)

    trio.run(main)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors can't be listed here")
def test_a_watcher_that_stops_leaves_nothing_open(tmp_path: Path) -> None:
    def holds_inotify() -> bool:
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed since
                if "inotify" in os.readlink(f"/proc/self/fd/{name}"):
                    return True
        return False

    async def main() -> None:
        async with watching(WatchPlan("ann", workspace_at(tmp_path / "ws")), step_ms=STEP_MS):
            assert holds_inotify()
        await reached(lambda: not holds_inotify())

    trio.run(main)


def test_without_a_plan_nothing_is_armed() -> None:
    async def main() -> None:
        async with watching() as (watcher, heard):
            assert repr(watcher) == "<Watcher of 0 agents, 0 polled, 0 folders armed>"
            assert watcher.state("ann").mode == "off"
            assert heard.hints == []

    trio.run(main)
