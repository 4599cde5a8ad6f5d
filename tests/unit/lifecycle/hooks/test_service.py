"""Hooks: which text a session gets at an event, and what is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import trio

from memd.lifecycle.hooks.service import HookService
from memd.settings.hooks import HooksSettings
from memd.settings.schema import DaemonSettings
from memd_client.errors import AgentUnknownError, DeadlineExceededError, MemdError
from memd_client.hooks import HookParams, HookReply
from memd_client.messages import (
    FileEntry,
    FilesParams,
    FilesReply,
    GetParams,
    GetReply,
    Hit,
    PendingChanges,
    SearchParams,
    SearchReply,
)
from memd_client.sources import SessionInfo

FACT = "Upload jobs retry five times"
PATH = "memory/projects/harbor.md"
PROMPT = HookParams(
    "codex", "prompt", "s1", cwd="/home/mara/code/harbor", prompt="retry of the invoice upload"
)


def found(fact: str = FACT) -> Hit:
    """Return a hit about uploads and retries."""
    explain = {"words": [{"word": word, "weight": 4.0} for word in ("upload", "retry")]}
    return Hit(PATH, 3, 3, 1.0, 0.5, 9.0, f"- {fact}", "memory", f"{PATH}#L3", explain=explain)


class ScriptedMemory:
    """A memory with given hits and one note."""

    def __init__(self, agent_id: str, hits: list[Hit] | MemdError) -> None:
        self.agent_id = agent_id
        self.hits = hits
        self.searches: list[SearchParams] = []
        self.syncs: list[str] = []

    async def search(self, params: SearchParams) -> SearchReply:
        """Return the hits."""
        await trio.lowlevel.checkpoint()
        self.searches.append(params)
        if isinstance(self.hits, MemdError):
            raise self.hits
        return SearchReply(
            self.agent_id, self.hits, "keyword", None, not self.hits, 1.0, "none", "", 1, PendingChanges()
        )

    async def files(self, params: FilesParams) -> FilesReply:
        """Return one note."""
        await trio.lowlevel.checkpoint()
        return FilesReply(self.agent_id, [FileEntry(PATH, "memory", 0, 30, 1)], 1)

    async def get(self, params: GetParams) -> GetReply:
        """Return its text."""
        await trio.lowlevel.checkpoint()
        return GetReply(self.agent_id, params.path, f"# Harbor\n\n- {FACT}", 1, 3, 3, False)

    def session_started(self, session_key: str) -> bool:
        """Record a sync."""
        self.syncs.append(session_key)
        return True

    def compaction_done(self) -> bool:
        """Record a sync."""
        self.syncs.append("")
        return True


class ScriptedMemories:
    """The agents `main` and, if given, `shared`."""

    def __init__(self, *memories: ScriptedMemory, hooks: HooksSettings | None = None) -> None:
        self.settings = DaemonSettings(hooks=hooks or HooksSettings())
        self.agents: Mapping[str, ScriptedMemory] = {each.agent_id: each for each in memories}

    def agent(self, agent_id: str | None) -> ScriptedMemory:
        """Return an agent, `main` by default."""
        if (agent_id or "main") not in self.agents:
            raise AgentUnknownError("there is no such agent")
        return self.agents[agent_id or "main"]


def answer(service: HookService, memories: ScriptedMemories, params: HookParams) -> HookReply:
    """Return the answer to one event."""
    return trio.run(service.answer, memories, params)


def test_a_sure_fact_is_injected_and_logged_by_its_place() -> None:
    service = HookService(lambda: 5)

    reply = answer(service, ScriptedMemories(ScriptedMemory("main", [found()])), PROMPT)

    assert (reply.decision, reply.hits) == ("injected", 1)
    assert f"- {FACT} ({PATH}#L3)" in reply.text
    [entry] = service.log.newest(5)
    assert (entry.decision, entry.places, entry.chars) == ("injected", [f"{PATH}#L3"], len(reply.text))


def test_a_fact_is_injected_once_in_a_session() -> None:
    service, memories = HookService(), ScriptedMemories(ScriptedMemory("main", [found()]))

    decisions = [
        answer(service, memories, replace(PROMPT, session_id=name)).decision for name in ("s1", "s1", "s2")
    ]

    assert decisions == ["injected", "already_shown", "injected"]


@pytest.mark.parametrize(
    ("prompt", "decision"),
    [
        ("", "machine_prompt"),
        ("/clear", "machine_prompt"),
        ("ok go on", "empty"),
        ("rename the basket", "not_sure"),
    ],
)
def test_other_prompts_stay_without_memory(prompt: str, decision: str) -> None:
    memory = ScriptedMemory("main", [replace(found(), snippet="- Something else")])

    reply = answer(HookService(), ScriptedMemories(memory), replace(PROMPT, prompt=prompt))

    assert (reply.text, reply.decision) == ("", decision)


def test_a_machine_prompt_is_not_searched_for() -> None:
    memory = ScriptedMemory("main", [])

    answer(HookService(), ScriptedMemories(memory), replace(PROMPT, prompt="/clear"))

    assert memory.searches == []


@pytest.mark.parametrize("hits", [[], DeadlineExceededError("too slow")])
def test_without_hits_in_time_there_is_no_text(hits: list[Hit] | MemdError) -> None:
    reply = answer(HookService(), ScriptedMemories(ScriptedMemory("main", hits)), PROMPT)

    assert (reply.text, reply.decision) == ("", "empty")


def test_a_search_excludes_the_session_and_has_a_short_deadline() -> None:
    memory = ScriptedMemory("main", [])

    answer(HookService(), ScriptedMemories(memory), PROMPT)

    [params] = memory.searches
    assert params.exclude_session == "s1"
    assert params.deadline_ms is not None
    assert params.deadline_ms <= 60


@pytest.mark.parametrize(
    ("session", "transcript"), [("s1", ""), ("thread-7", "/x/rollout-2026-11-02T08-00-00-thread-7.jsonl")]
)
def test_the_sessions_own_conversation_is_not_quoted(session: str, transcript: str) -> None:
    talk = replace(found("upload retry of the invoice"), session=SessionInfo("codex", session))
    params = replace(PROMPT, transcript_path=transcript)

    assert answer(HookService(), ScriptedMemories(ScriptedMemory("main", [talk])), params).decision == "empty"


def test_the_shared_agent_is_searched_too() -> None:
    memories = ScriptedMemories(ScriptedMemory("main", []), ScriptedMemory("shared", [found()]))

    assert answer(HookService(), memories, PROMPT).decision == "injected"
    assert answer(HookService(), memories, replace(PROMPT, agent="main")).decision == "empty"


def test_the_settings_choose_the_agent_and_limit_the_text() -> None:
    memory, other = ScriptedMemory("main", []), ScriptedMemory("work", [found()])

    chosen = ScriptedMemories(memory, other, hooks=HooksSettings(agent="work"))
    short = ScriptedMemories(memory, other, hooks=HooksSettings(agent="work", max_tokens=5))

    assert answer(HookService(), chosen, PROMPT).decision == "injected"
    assert answer(HookService(), short, PROMPT).decision == "not_sure"


def test_hooks_that_are_off_do_nothing() -> None:
    memory = ScriptedMemory("main", [found()])
    memories = ScriptedMemories(memory, hooks=HooksSettings(enabled=False))

    assert answer(HookService(), memories, PROMPT).decision == "off"
    assert answer(HookService(), memories, replace(PROMPT, event="session_end")).decision == "off"
    assert (memory.searches, memory.syncs) == ([], [])


def test_a_session_starts_with_the_newest_facts_once() -> None:
    service, memory = HookService(), ScriptedMemory("main", [])
    start = replace(PROMPT, event="session_start", prompt="")

    first, again = (answer(service, ScriptedMemories(memory), start) for _ in range(2))

    assert first.decision == "injected"
    assert "1 note on harbor" in first.text
    assert FACT in first.text
    assert again.decision == "nothing_new"
    assert memory.syncs == ["s1", "s1"]


def test_a_project_without_notes_starts_in_silence() -> None:
    start = replace(PROMPT, event="session_start", cwd="/home/mara/code/unknown")

    assert answer(HookService(), ScriptedMemories(ScriptedMemory("main", [])), start).decision == "empty"


@pytest.mark.parametrize("event", ["compaction", "session_end"])
def test_a_compaction_or_an_end_requests_a_sync(event: str) -> None:
    memory = ScriptedMemory("main", [])

    reply = answer(HookService(), ScriptedMemories(memory), replace(PROMPT, event=event))

    assert (reply.text, reply.decision) == ("", "indexed")
    assert memory.syncs == [""]
