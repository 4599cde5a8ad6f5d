"""Isolation of agents: replies hold no text of another agent or outside file."""

from __future__ import annotations

import json
import os
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memd_client import Client
from memd_client.errors import MemdError
from memd_client.limits import MAX_INDEX_PATH_CHARS
from tests.support.daemon import DaemonProcess
from tests.support.hostile import (
    PREFIXES,
    TOPICS,
    descriptor_paths,
    mutate_path,
    paths_to,
    random_query,
    swap_with_link,
)
from tests.support.state_homes import KEYWORD_ONLY, UNWATCHED, StateHome, agents_config

Reply = TypeVar("Reply")

AGENTS = ("main", "work", "home")

NOTES = (
    "MEMORY.md",
    "memory/2026-03-04.md",
    "memory/deep/er/notes.md",
    "memory/Ünïcode 日記.md",
    "docs/extra.md",
)


class Canaries:
    """Random words, one set per file: a word in a reply shows that its file was read."""

    def __init__(self) -> None:
        self.inside: dict[str, set[str]] = {agent: set() for agent in AGENTS}
        self.outside: set[str] = set()

    def text(self, among: set[str]) -> str:
        """Return a note on every topic with new canaries, which are added to a set."""
        lines = []
        for topic in TOPICS:
            own = [f"zq{secrets.token_hex(8)}" for _ in range(4)]  # many, or texts would count as copies
            among.update(own)
            lines.append(f"{topic}: {' '.join(own)}\n")
        return "\n".join(lines)

    def foreign_words(self, agent: str) -> set[str]:
        """Return the canaries that no reply to an agent may hold."""
        others = (self.inside[other] for other in AGENTS if other != agent)
        return self.outside.union(*others)

    def leaked(self, agent: str, reply: object) -> set[str]:
        """Return the foreign canaries in a reply or an error."""
        said = f"{reply!r} {vars(reply)!r}" if isinstance(reply, MemdError) else repr(reply)
        return {canary for canary in self.foreign_words(agent) if canary in said}


class IsolatedAgents:
    """Three agents' workspaces with links to outside files."""

    def __init__(self, home: StateHome) -> None:
        self.home = home
        self.canaries = Canaries()
        self.notes: dict[str, dict[str, str]] = {agent: {} for agent in AGENTS}
        self.traps: list[str] = []
        config = agents_config(home.state, *AGENTS[1:])
        config["agents"]["defaults"]["memorySearch"]["extraPaths"] = ["docs", "linked/sub", "linked"]
        home.configure(config)
        outside = self._fill_outside()
        for agent in AGENTS:
            for path in NOTES:
                self.notes[agent][path] = self.canaries.text(self.canaries.inside[agent])
                home.note(path, self.notes[agent][path], agent)
        for agent in AGENTS:
            self._lay_traps(agent, outside)

    def _fill_outside(self) -> Path:
        """Write files outside every agent's memory; return their folder."""
        outside = self.home.root / "outside"
        (outside / "sub").mkdir(parents=True)
        for path in ("secret.md", "sub/notes.md"):
            (outside / path).write_text(self.canaries.text(self.canaries.outside))
        sessions = self.home.state / "agents" / "work" / "sessions"
        sessions.mkdir(parents=True)
        said = self.canaries.text(self.canaries.outside).replace("\n", " ")
        message = {"role": "user", "content": [{"type": "text", "text": said}]}
        line = json.dumps({"type": "message", "message": message})
        (sessions / "talk.jsonl").write_text(f"{line}\n")
        return outside

    def _lay_traps(self, agent: str, outside: Path) -> None:
        """Create links out of a workspace, and other files that are no memory."""
        workspace = self.home.workspace(agent)
        other = self.home.workspace(AGENTS[(AGENTS.index(agent) + 1) % len(AGENTS)])
        for path, target in {
            "memory/link.md": outside / "secret.md",
            "memory/folder": outside,
            "memory/other": other / "memory",
            "memory/neighbour.md": other / "MEMORY.md",
            "memory/relative.md": Path("../../outside/secret.md"),
            "memory/environ.md": Path("/proc/self/environ"),
            "memory/root": Path("/"),
            "memory/loop": Path("loop"),
            "memory/deep/dot": Path("."),
            "USER.md": outside / "secret.md",
            "linked": outside,
        }.items():
            (workspace / path).symlink_to(target)
            self.traps.append(path)
        for path in (
            "README.md",
            "memory/a.txt",
            "memory/.hidden/b.md",
            "memory/node_modules/c.md",
            "src/d.md",
        ):
            self.home.note(path, self.canaries.text(self.canaries.outside), agent)
            self.traps.append(path)
        os.mkfifo(workspace / "memory" / "pipe.md")
        self.traps.append("memory/pipe.md")

    def hostile_names(self, pid: int) -> list[str]:
        """Return names of forbidden files and of notes, as seeds for mutation."""
        state, outside = self.home.state, self.home.root / "outside"
        files = [outside / "secret.md", state / "openclaw.json", state / "memory" / "work.memd.sqlite"]
        files += [self.home.workspace(agent) / path for agent in AGENTS for path in NOTES]
        below = ("secret.md", "sub/notes.md", "MEMORY.md", "etc/passwd")
        return [
            *NOTES,
            "/etc/passwd",
            "/dev/stdin",
            "sessions/talk.jsonl",
            "agents/work/sessions/talk.jsonl",
            *(name for file in files for name in paths_to(file, self.home.workspace(), pid)),
            *descriptor_paths(pid),
            *self.traps,
            *(f"{trap}/{name}" for trap in self.traps for name in below),
        ]


def outcome(ask: Callable[..., Reply], *args: Any, **options: Any) -> Reply | MemdError:
    """Return the reply to a request, or its error."""
    try:
        return ask(*args, **options)
    except MemdError as error:
        return error


@pytest.fixture(scope="module")
def scene() -> Iterator[IsolatedAgents]:
    with StateHome() as home:
        yield IsolatedAgents(home)


@pytest.fixture(scope="module")
def client(scene: IsolatedAgents) -> Iterator[Client]:
    with DaemonProcess(scene.home) as daemon, daemon.client() as client:
        client.index()
        yield client
        assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]
        logged = (scene.home.root / "daemon.log").read_text()
        every = scene.canaries.outside.union(*scene.canaries.inside.values())
        assert not [canary for canary in every if canary in logged]


def test_each_agent_finds_and_reads_its_own_notes(scene: IsolatedAgents, client: Client) -> None:
    for agent in AGENTS:
        reply = client.search(TOPICS[0], agent=agent, max_results=50, min_score=0)
        leaked = {canary for canary in scene.canaries.inside[agent] if canary in repr(reply)}
        assert len({hit.path for hit in reply.hits}) == len(NOTES)
        assert len(leaked) >= len(NOTES)
        for path, text in scene.notes[agent].items():
            assert client.get(path, agent=agent).text == text


def test_files_behind_links_are_reported_as_skipped(scene: IsolatedAgents, client: Client) -> None:
    (agent,) = client.status(agent="main").agents
    reasons = {row.path: row.reason for row in agent.skipped}
    for path in ("memory/link.md", "memory/folder", "memory/other", "USER.md", "linked", "linked/sub"):
        assert "symbolic link" in reasons[path], path
    assert agent.files == len(NOTES)


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_query_replies_hold_nothing_of_another_agent(
    scene: IsolatedAgents, client: Client, count: int
) -> None:
    dice = random.Random(count)
    workspaces = [str(scene.home.workspace(agent)) for agent in AGENTS]
    hits = 0
    for _ in range(count):
        agent, query = dice.choice(AGENTS), random_query(dice, workspaces)
        options: dict[str, Any] = {
            "max_results": dice.choice([None, 1, 10, 1000]),
            "min_score": dice.choice([None, 0.0, -1.0, 0.3]),
            "sources": dice.choice([None, None, ["memory"], ["sessions"], ["memory", "sessions"]]),
            "path": dice.choice(PREFIXES),
            "explain": dice.random() < 0.3,
        }
        reply = outcome(client.search, query, agent=agent, **options)
        assert not scene.canaries.leaked(agent, reply), (agent, query, options)
        if isinstance(reply, MemdError):
            assert reply.code in ("query_empty", "bad_params"), (reply, query, options)
            continue
        assert {hit.path for hit in reply.hits} <= set(NOTES)
        hits += len(reply.hits)
    assert hits > count / 2


def test_search_of_several_agents_labels_each_hit_with_its_agent(
    scene: IsolatedAgents, client: Client
) -> None:
    dice = random.Random(7)
    hits = 0
    for _ in range(50):
        named = dice.sample(AGENTS, dice.randint(1, len(AGENTS)))
        query = f"{dice.choice(TOPICS)} {dice.choice(TOPICS)}"
        reply = client.search_agents(query, agents=named, min_score=0, max_results=20, explain=True)
        for hit in reply.hits:
            assert hit.agent in named
            assert not scene.canaries.leaked(hit.agent, hit), (named, query)
        hits += len(reply.hits)
    assert hits > 100


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_get_returns_no_byte_from_outside_the_memory(
    scene: IsolatedAgents, client: Client, count: int
) -> None:
    dice = random.Random(count)
    names = scene.hostile_names(client.hello().pid)
    came: Counter[str] = Counter()
    for number in range(count):
        path = names[number] if number < len(names) else dice.choice(names)
        for _ in range(0 if number < len(names) else dice.randint(1, 3)):
            path = mutate_path(dice, path)
        agent = dice.choice(AGENTS)
        reply = outcome(client.get, path, agent=agent)
        assert not scene.canaries.leaked(agent, reply), (agent, path)
        if isinstance(reply, MemdError):
            is_too_long = len(path) > MAX_INDEX_PATH_CHARS and reply.wire_code == "bad_params"
            assert is_too_long or reply.code in ("path_refused", "file_missing"), (reply, path)
            came[reply.code] += 1
        else:
            assert reply.text == scene.notes[agent].get(reply.path), (agent, path)
            came["read"] += 1
    assert came["path_refused"] > count / 2, came
    assert came["read"] >= len(NOTES), came


def test_folder_swapped_for_a_link_during_requests_leaks_nothing() -> None:
    config = UNWATCHED
    with StateHome(config) as home:
        for number in range(20):
            home.note(f"memory/sub/{number}.md", f"note {number} on the harbour, written by the agent\n")
        outside = home.root / "outside"
        outside.mkdir()
        for number in range(20):
            (outside / f"{number}.md").write_text(f"note {number} on the harbour, a stranger's canary\n")
        (home.root / "link").symlink_to(outside)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            came: Counter[str] = Counter()
            with swap_with_link(home.workspace() / "memory" / "sub", home.root / "aside", home.root / "link"):
                for number in range(240):
                    path = f"memory/sub/{number % 20}.md"
                    reply = outcome(client.get, path)
                    came[reply.code if isinstance(reply, MemdError) else "read"] += 1
                    assert "canary" not in repr(reply)
                    if number % 8 == 0:
                        home.note(f"memory/new-{number}.md", f"harbour {number}\n")  # a change to index
                        found = client.search("harbour stranger", max_results=100, explain=True)
                        assert "canary" not in repr(found)
            assert came["read"], came
            assert came.keys() <= {"read", "path_refused", "file_missing", "file_unreadable"}, came

            client.index()  # and all notes are found again afterwards

            assert (
                len(
                    [
                        hit
                        for hit in client.search("agent harbour", max_results=100).hits
                        if "/sub/" in hit.path
                    ]
                )
                == 20
            )
            assert client.search("canary").hits == []
            assert client.status().agents[0].skipped == []


def test_files_of_the_daemon_are_private_to_the_user_under_any_umask() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples\n")
        there = set(home.root.rglob("*")) | {home.root / "daemon.log"}
        before = os.umask(0)
        try:
            daemon = DaemonProcess(home, fresh=True).start(wait=False)
        finally:
            os.umask(before)
        try:
            daemon.wait_ready()
            with daemon.client() as client:
                client.index()
            made = {path: path.lstat().st_mode for path in set(home.root.rglob("*")) - there}
        finally:
            daemon.stop()
    names = {path.name for path in made}
    assert {
        "run",
        "memd.sock",
        "memd.sock.lock",
        "memory",
        "main.memd.sqlite",
        "main.memd.sqlite-wal",
    } <= names
    assert {str(path): oct(mode) for path, mode in made.items() if mode & 0o077} == {}
