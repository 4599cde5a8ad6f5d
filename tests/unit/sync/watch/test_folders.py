"""Folders to watch: all that matter, none that don't, and whom each concerns."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.settings.schema import ExtraPath
from memd.sync.disk.filesystems import Mounts
from memd.sync.watch.folders import Interest, Layout, WatchPlan, survey

LOCAL = Mounts()


def _survey(*plans: WatchPlan, mounts: Mounts = LOCAL, suspects: tuple[Path, ...] = ()) -> Layout:
    return survey(plans, mounts, [str(path) for path in suspects], "listened")


def _below(layout: Layout, root: Path) -> list[str]:
    """Return the folders events are wanted for, as seen from a root."""
    return sorted(os.path.relpath(path, root) for path in layout.listened())


def _workspace(root: Path, *folders: str) -> Path:
    for folder in ("memory", *folders):
        (root / folder).mkdir(parents=True, exist_ok=True)
    return root


def test_the_workspace_its_memory_and_the_folder_above_are_watched(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws", "memory/a/b", "memory/.git/x", "memory/node_modules/y", "src")
    assert _below(_survey(WatchPlan("ann", workspace)), workspace) == [
        ".",
        "..",
        "memory",
        "memory/a",
        "memory/a/b",
    ]


def test_of_a_root_that_is_missing_the_nearest_folder_there_is_is_watched(tmp_path: Path) -> None:
    layout = _survey(WatchPlan("ann", tmp_path / "home" / "ann" / "ws"))
    assert _below(layout, tmp_path) == ["."]
    assert layout.folders[str(tmp_path)].interests == {Interest("ann", "memory", frozenset({"home"}))}


def test_extra_paths_and_session_folders_are_watched(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.md").write_text("x")
    (tmp_path / "sessions" / "below").mkdir(parents=True)
    extras = (ExtraPath(path="../docs"), ExtraPath(path=str(tmp_path / "other" / "one.md")))
    layout = _survey(WatchPlan("ann", workspace, extras, (tmp_path / "sessions",)))
    assert _below(layout, tmp_path) == [".", "docs", "docs/deep", "other", "sessions", "ws", "ws/memory"]
    assert layout.folders[str(tmp_path / "other")].interests == {
        Interest("ann", "memory", frozenset({"one.md"}))
    }


def test_links_below_a_root_are_not_followed(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    (tmp_path / "big" / "tree").mkdir(parents=True)
    (workspace / "memory" / "link").symlink_to(tmp_path / "big")
    (tmp_path / "linked-docs").symlink_to(tmp_path / "big")
    plan = WatchPlan("ann", workspace, (ExtraPath(path="../linked-docs"),))
    assert _below(_survey(plan), tmp_path) == [".", "ws", "ws/memory"]


def test_a_linked_workspace_is_watched_where_it_is_and_where_it_is_named(tmp_path: Path) -> None:
    real = _workspace(tmp_path / "disk" / "ws")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "ws").symlink_to(real)
    layout = _survey(WatchPlan("ann", tmp_path / "home" / "ws"))
    assert _below(layout, tmp_path) == ["disk", "home", "home/ws", "home/ws/memory"]


def test_one_folder_of_two_agents_has_one_watch_and_concerns_both(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    (tmp_path / "alias").symlink_to(workspace)
    layout = _survey(WatchPlan("ann", workspace), WatchPlan("bob", tmp_path / "alias"))
    assert _below(layout, tmp_path) == [".", "ws", "ws/memory"]
    assert {each.agent for each in layout.folders[str(workspace / "memory")].interests} == {"ann", "bob"}
    assert layout.folders[str(tmp_path / "alias")] is layout.folders[str(workspace)]


def test_nothing_on_a_foreign_file_system_is_touched_for_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a workspace on a server, and a disk that would notice being asked for it
    far, near = _workspace(tmp_path / "nas" / "ws"), _workspace(tmp_path / "ws")
    mounts = Mounts({str(tmp_path / "nas"): "nfs4"}, {-1: "nfs4"})
    asked: list[str] = []

    def noting(real: Callable[..., Any]) -> Callable[..., Any]:
        def note(path: Any, *rest: Any, **options: Any) -> Any:
            asked.append(str(path))
            return real(path, *rest, **options)

        return note

    for name in ("stat", "lstat", "scandir"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    # when events are wanted
    layout = _survey(WatchPlan("far", far), WatchPlan("near", near), mounts=mounts)
    # then nobody went there, the other agent is served, and the reason says what and where
    assert [path for path in asked if "nas/" in path] == []
    assert _below(layout, tmp_path) == [".", "ws", "ws/memory"]
    assert set(layout.polled) == {"far"}
    assert "nas/ws is on nfs4" in layout.polled["far"] or "nas is on nfs4" in layout.polled["far"]


def test_what_events_will_not_do_for_is_there_to_be_polled(tmp_path: Path) -> None:
    far, near = _workspace(tmp_path / "nas" / "ws"), _workspace(tmp_path / "ws")
    mounts = Mounts({str(tmp_path / "nas"): "nfs4"}, {-1: "nfs4"})
    plans = (WatchPlan("far", far), WatchPlan("near", near))
    polled = survey(plans, mounts, (), "polled")
    assert {os.path.relpath(path, tmp_path) for path in polled.folders} == {"nas", "nas/ws", "nas/ws/memory"}
    assert polled.listened() == {}
    everything = survey(plans, mounts, (), "all")
    assert polled.folders.keys() < everything.folders.keys()


def test_a_link_to_a_foreign_file_system_is_known_by_its_device(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    mounts = Mounts({}, {workspace.stat().st_dev: "9p"})
    layout = _survey(WatchPlan("ann", workspace), mounts=mounts)
    assert layout.listened() == {}
    assert "is on 9p, where changes made elsewhere raise no file events" in layout.polled["ann"]


def test_a_suspected_folder_is_polled_as_long_as_it_holds_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws", "memory/sub")
    memory = workspace / "memory"
    odd = os.fsencode(memory) + b"/caf\xe9.md"
    open(odd, "w").close()
    # when the folder is suspected, it alone is left to polling
    layout = _survey(WatchPlan("ann", workspace), suspects=(memory, workspace))
    assert layout.odd == {str(memory)}
    assert _below(layout, workspace) == [".", "..", "memory/sub"]
    assert "rename that file" in layout.polled["ann"]
    # and when the name is gone, it isn't
    os.unlink(odd)
    layout = _survey(WatchPlan("ann", workspace), suspects=(memory,))
    assert (layout.odd, layout.polled) == (frozenset(), {})


def test_a_path_that_is_not_utf8_is_polled(tmp_path: Path) -> None:
    workspace = _workspace(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))
    plan = WatchPlan("ann", workspace)
    assert _below(_survey(plan), tmp_path) == ["."]
    assert "is not UTF-8" in _survey(plan).polled["ann"]
    assert len(survey((plan,), LOCAL, (), "polled").folders) == 2


def test_a_folder_that_goes_or_is_replaced_concerns_its_agent_alone(tmp_path: Path) -> None:
    ann, bob = _workspace(tmp_path / "ann", "memory/a"), _workspace(tmp_path / "bob")
    plans = (WatchPlan("ann", ann), WatchPlan("bob", bob))
    before = _survey(*plans)
    assert _survey(*plans).hints_since(before) == set()
    (bob / "memory").rename(tmp_path / "elsewhere")
    (bob / "memory").mkdir()
    replaced = _survey(*plans)
    assert replaced.hints_since(before) == {("bob", "memory")}
    (ann / "memory" / "a").rmdir()
    assert _survey(*plans).hints_since(replaced) == {("ann", "memory")}


@pytest.mark.parametrize(
    ("interest", "yes", "no"),
    [
        (Interest("a", "memory"), ["x.md", "X.MD", ".draft.md"], ["x.txt", "x.md~", "index.sqlite-wal"]),
        (Interest("a", "memory", frozenset({"memory"})), ["memory", "Memory"], ["memory.md", "src"]),
        (
            Interest("a", "sessions"),
            [
                "s.jsonl",
                "s.jsonl.reset.2026",
                "s.jsonl.zst",
                "openclaw-agent.sqlite",
                "openclaw-agent.sqlite-wal",
            ],
            ["sessions.json", "x.md", "openclaw-agent.sqlite-shm", "main.sqlite"],
        ),
    ],
)
def test_names_that_can_matter_are_told_from_those_that_can_not(
    interest: Interest, yes: list[str], no: list[str]
) -> None:
    assert [name for name in yes + no if interest.wants(name)] == yes
