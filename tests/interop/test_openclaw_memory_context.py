"""The memory in OpenClaw's system prompts: the same bytes with memd in the memory slot as with memory-core.

The memory context of a prompt is its stable part from the heading `## Workspace` on, which follows the section of the
memory plugin itself: the notice of truncated files, `# Project Context`, and each file under its heading. One home and
one path of the workspace serve both; only `plugins.slots.memory` differs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.openclaw import (
    CHAT_COMPLETIONS,
    PLUGIN,
    ModelServer,
    OpenClawGateway,
    OpenClawInstallation,
    TextReply,
    plugin_folder,
    serve_model,
    settings,
)
from tests.support.openclaw_workspaces import (
    CASES,
    NOTE,
    Entry,
    Folder,
    HardLink,
    SymbolicLink,
    WorkspaceCase,
    build,
    outside_folder,
)
from tests.support.state_homes import StateHome

Slot = Literal["memory-core", "memd"]
SLOTS: Final[tuple[Slot, ...]] = ("memory-core", "memd")

EXCLUDED: Final = "excluding automatic memory context"
"""Log message of OpenClaw if the plugin can't report the origin of a file."""

GREETING: Final = "Good morning."

CURATED: Final = re.compile(r"(?:users/[^/]+/)?USER\.md|MEMORY\.md", re.IGNORECASE)

CLASSIFY: Final = """
import { readdir } from "node:fs/promises";
const [dist, plugin, request] = process.argv.slice(2);
const name = (await readdir(dist)).find((file) => /^workspace-path-classifier-.*\\.mjs$/.test(file));
const core = Object.values(await import(`${dist}/${name}`))[0];
const { readMemoryArtifactProvenance } = await import(`${dist}/plugin-sdk/memory-core-host-runtime-core.js`);
const { classifyWorkspaceMemoryPaths } = await import(`${plugin}/src/workspace-memory.js`);
const origins = async (rows) => (await rows).map((row) => row.originClass);
const asked = JSON.parse(request);
const memd = classifyWorkspaceMemoryPaths(asked, readMemoryArtifactProvenance);
console.log(JSON.stringify({ core: await origins(core(asked)), memd: await origins(memd) }));
process.exit(0);
"""
"""Asks memory-core's own function and memd's for the origins of the same paths."""

PATHS: Final[dict[str, Entry]] = {
    **dict.fromkeys(("MEMORY.md", "memory.md", "USER.md", "Memory.md", "user.md", "AGENTS.md"), NOTE),
    **dict.fromkeys(("DREAMS.md", "dreams.md", "Dreams.md", "MEMORY.MD", "notes/MEMORY.md"), NOTE),
    **dict.fromkeys(("memory/2026-03-04.md", "memory/a/b.md", "memory/x.MD", "memory/x.txt"), NOTE),
    **dict.fromkeys(("memory/dreaming/a.md", "memory/.dreams/a.json", "memory/dreaming.md"), NOTE),
    **dict.fromkeys(("memory/.md", "Memory/a.md", "memory/poisoned.md", "memory/agent.md"), NOTE),
    **dict.fromkeys(("users/ada/USER.md", "users/ada/user.md", "users/-a/USER.md", "users/USER.md"), NOTE),
    **dict.fromkeys(("users/a.b/USER.md", f"users/{'a' * 128}/USER.md", f"users/{'a' * 129}/USER.md"), NOTE),
    **dict.fromkeys(("..notes/a.md", "memory/a\\b.md", "memory/poisoned\\folder.md"), NOTE),
    "links/inside.md": SymbolicLink("memory/agent.md"),
    "links/poisoned.md": SymbolicLink("memory/poisoned.md"),
    "links/dream.md": SymbolicLink("memory/dreaming/a.md"),
    "links/outside.md": SymbolicLink("MEMORY.md", outside=True),
    "links/broken.md": SymbolicLink("gone.md"),
    "links/folder": SymbolicLink("memory"),
    "memory/outside": SymbolicLink("memory", outside=True),
    "memory/hard.md": HardLink("MEMORY.md"),
    "memory/folder.md": Folder(),
}
"""Paths for the classifiers, besides those that do not exist."""

ODD_PATHS: Final = (
    *(
        "",
        ".",
        "..",
        "memory",
        "gone.md",
        "../MEMORY.md",
        "memory/../MEMORY.md",
        "./USER.md",
        "memory//a/b.md",
    ),
    *("links/folder/agent.md", "links/folder/dreaming/a.md", "links/folder/poisoned.md"),
    *("memory/outside/2026-03-04.md", "../workspace/MEMORY.md", "/etc/hostname", "memory/a\0.md"),
)
RECORDS: Final[Mapping[str, Literal["agent", "untrusted"]]] = {
    "memory/poisoned.md": "untrusted",
    "memory/agent.md": "agent",
    "memory/poisoned/folder.md": "untrusted",
    "users/ada/USER.md": "untrusted",
    "USER.md": "agent",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What a gateway made of every case."""

    contexts: dict[str, str]
    log: str


class Runs:
    """Runs of a group of cases with a plugin in the slot, each made when it is first asked for."""

    def __init__(self, claw: OpenClawInstallation, model: ModelServer) -> None:
        self._claw = claw
        self._model = model
        self._done: dict[tuple[str, Slot], Run] = {}

    def __getitem__(self, key: tuple[str, Slot]) -> Run:
        group, slot = key
        if key not in self._done:
            self._done[key] = _run(self._claw, self._model, slot, GROUPS[group])
        return self._done[key]


GROUPS: Final = {
    "main": tuple(case for case in CASES if case.agent == "main"),
    "own-agents": tuple(case for case in CASES if case.agent != "main"),
}
"""A turn costs a third of a second in an agent that has run before, and three seconds in a new one."""

MARKS: Final = {"main": (), "own-agents": (pytest.mark.long,)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Every run, in one home."""
    folder = plugin_folder(tmp_path_factory.mktemp("plugin"))
    with (
        serve_model(lambda _conversation: TextReply("Good.")) as model,
        StateHome(settings(model.url)) as home,
    ):
        claw = OpenClawInstallation(home)
        claw.change(CHAT_COMPLETIONS)
        claw.change(_settings(home, folder))
        yield Runs(claw, model)


@pytest.mark.parametrize(
    ("group", "slot"),
    [pytest.param(group, slot, marks=MARKS[group]) for group in GROUPS for slot in SLOTS],
)
def test_openclaw_excludes_no_memory_for_lack_of_a_classifier(runs: Runs, group: str, slot: Slot) -> None:
    log = runs[group, slot].log

    assert "http server listening" in log
    assert [line for line in log.splitlines() if EXCLUDED in line] == []


@pytest.mark.parametrize(
    ("group", "case"),
    [
        pytest.param(group, case, id=case.name, marks=MARKS[group])
        for group, cases in GROUPS.items()
        for case in cases
    ],
)
def test_memory_context_with_memd_in_the_slot_is_that_of_memory_core(
    runs: Runs, group: str, case: WorkspaceCase
) -> None:
    reference = runs[group, "memory-core"].contexts[case.name]

    assert _loaded(reference) == case.loaded
    assert runs[group, "memd"].contexts[case.name].encode() == reference.encode()


@pytest.mark.parametrize("remote", [False, True], ids=["on disk", "read sources"])
@pytest.mark.parametrize("root", ["folder", "link"])
def test_every_path_has_the_origin_that_memory_core_gives_it(
    root: Literal["folder", "link"], remote: bool
) -> None:
    paths = [*PATHS, *ODD_PATHS]
    with StateHome() as home:
        claw = OpenClawInstallation(home)
        case = WorkspaceCase("main", "", PATHS, records=RECORDS, root=root)
        workspace = home.workspace(case.agent)
        build(case, workspace)
        claw.record_origins(case.agent, case.records)
        request: dict[str, Any] = {"workspaceDir": str(workspace), "relativePaths": paths}
        if remote:
            sources = [{"relativePath": path, "canonicalRelativePath": path} for path in paths]
            request["readSources"] = [{"relativePath": "USER.md"}, *sources, {"relativePath": "x"}]
        script = home.root / "classify.mjs"
        script.write_text(CLASSIFY)
        origins = json.loads(claw.node(script, claw.package / "dist", PLUGIN, json.dumps(request)))

    assert dict(zip(paths, origins["memd"], strict=True)) == dict(zip(paths, origins["core"], strict=True))
    assert set(origins["core"]) == {"agent", "untrusted", "system"}


def _settings(home: StateHome, folder: Path) -> dict[str, Any]:
    """Return settings with an agent for each case that has records, and both plugins at hand."""
    agents: dict[str, dict[str, Any]] = {
        case.agent: {"workspace": str(home.workspace(case.agent))} for case in CASES
    }
    agents["main"]["default"] = True
    return {
        "gateway": {"bind": "loopback"},
        "agents": {"entries": agents},
        "memory": {"search": {"extraPaths": [str(outside_folder(home.workspace()))]}},
        "plugins": {
            "allow": list(SLOTS),
            "load": {"paths": [str(folder)]},
            "entries": {"memd": {"config": {"startDaemon": False}}},
        },
    }


def _run(claw: OpenClawInstallation, model: ModelServer, slot: Slot, cases: Sequence[WorkspaceCase]) -> Run:
    """Run cases with a plugin in the slot, from a state that holds nothing but settings."""
    _forget(claw.home)
    claw.change({"plugins": {"slots": {"memory": slot}}})
    contexts: dict[str, str] = {}
    with OpenClawGateway(claw) as gateway:
        for state, group in groupby(cases, lambda case: case.daemon):
            with _daemon(claw.home, state if slot == "memd" else "down"):
                for case in group:
                    contexts[case.name] = _context(claw, model, gateway, case)
        return Run(contexts, gateway.log())


def _forget(home: StateHome) -> None:
    for entry in home.state.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != "openclaw.json":
            entry.unlink()


@contextmanager
def _daemon(home: StateHome, state: str) -> Iterator[None]:
    if state == "down":
        yield
        return
    with DaemonProcess(home) as daemon:
        if state == "hung":
            os.kill(daemon.pid, signal.SIGSTOP)
        yield


def _context(
    claw: OpenClawInstallation, model: ModelServer, gateway: OpenClawGateway, case: WorkspaceCase
) -> str:
    """Run a case's turn, and return the memory context of its prompt."""
    build(case, claw.home.workspace(case.agent))
    if case.records:
        claw.record_origins(case.agent, case.records)
    model.asked.clear()
    gateway.turn(GREETING, case.agent)
    system = next(asked.system for asked in model.asked if GREETING in asked.prompt)
    stable, end, _ = system.partition("<!-- /openclaw:attempt:STABLE -->")
    _, start, context = stable.partition("\n## Workspace\n")
    assert start, system[-2000:]
    assert end, system[-2000:]
    return context


def _loaded(context: str) -> tuple[str, ...]:
    """Return the curated files whose text is in a context, in order."""
    loaded = []
    for section in context.split("\n## /")[1:]:
        heading, _, text = section.partition("\n")
        name = re.search(r"/workspace[^/]*/(.+)$", heading)
        if name and CURATED.fullmatch(name[1]) and not text.startswith(("[MISSING]", "[UNREADABLE")):
            loaded.append(name[1])
    return tuple(loaded)
