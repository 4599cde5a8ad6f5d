"""Hooks: which text a session gets at an event, and what is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import trio
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import RecentSession, SessionFacts
from memd.lifecycle.hooks import confident_matches
from memd.lifecycle.hooks.log import hook_entries
from memd.lifecycle.hooks.service import HookService
from memd.settings.hooks import HooksSettings
from memd.settings.schema import DaemonSettings
from memd_client.errors import AgentUnknownError, DeadlineExceededError, MemdError
from memd_client.hooks import HookLogEntry, HookParams, HookReply
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
    Supersession,
)
from memd_client.sources import SessionInfo
from tests.support.agents import BlockingRegistry, config_in

FACT = "Upload jobs retry five times"
PATH = "memory/projects/harbor.md"
OWN = {"origins": ["agent"] * 50, "has_outside": False}
PROMPT = HookParams(
    "codex", "prompt", "s1", cwd="/home/mara/code/harbor", prompt="retry of the invoice upload"
)


def found(fact: str = FACT) -> Hit:
    """Return a hit about uploads and retries."""
    explain = {"words": [{"word": word, "weight": 4.0} for word in ("upload", "retry")], "lines": [3], **OWN}
    return Hit(PATH, 3, 3, 1.0, 0.5, 9.0, f"- {fact}", "memory", f"{PATH}#L3", explain=explain)


class ScriptedMemory:
    def __init__(self, agent_id: str, hits: list[Hit] | MemdError) -> None:
        self.agent_id = agent_id
        self.hits = hits
        self.note = f"# Harbor\n\n- {FACT}"
        self.sessions: list[RecentSession] = []
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
        await trio.lowlevel.checkpoint()
        return FilesReply(self.agent_id, [FileEntry(PATH, "memory", 0, 30, 1)], 1)

    async def get(self, params: GetParams) -> GetReply:
        await trio.lowlevel.checkpoint()
        return GetReply(self.agent_id, params.path, self.note, 1, 3, 3, False)

    async def perform(self, request: object) -> dict[str, object]:
        return {}  # origins

    async def read_index(self, read: partial[list[RecentSession]]) -> list[RecentSession]:
        """Return the sessions of the project that were given."""
        await trio.lowlevel.checkpoint()
        assert read.keywords["project"] == "/home/mara/code/harbor/"
        return self.sessions[: read.keywords["most"]]

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

    async def is_excluded(self, cwd: str) -> bool:
        """Return False: no folder is excluded."""
        return False

    def recalled(self, agent_id: str | None) -> list[ScriptedMemory]:
        """Return an agent, or `main` and `shared`."""
        if agent_id not in (None, *self.agents):
            raise AgentUnknownError("there is no such agent")
        return [self.agents[agent_id]] if agent_id else [*self.agents.values()]


def newest(service: HookService, limit: int) -> list[HookLogEntry]:
    """Return the newest decisions that were recorded."""
    return hook_entries(trio.run(service.recalls.read), limit)


def answer(service: HookService, memories: ScriptedMemories, params: HookParams) -> HookReply:
    """Return the answer to one event."""
    return trio.run(service.answer, cast(AgentRegistry, memories), params)


def test_a_sure_fact_is_injected_and_logged_by_its_place() -> None:
    service = HookService(lambda: 5)

    reply = answer(service, ScriptedMemories(ScriptedMemory("main", [found()])), PROMPT)

    assert (reply.decision, reply.hits) == ("injected", 1)
    assert f"- {FACT} ({PATH}#L3)" in reply.text
    [entry] = newest(service, 5)
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


def test_without_hits_there_is_no_text() -> None:
    reply = answer(HookService(), ScriptedMemories(ScriptedMemory("main", [])), PROMPT)

    assert (reply.text, reply.decision) == ("", "empty")


def test_a_search_that_is_too_slow_is_given_up() -> None:
    service, slow = HookService(), ScriptedMemory("main", DeadlineExceededError("too slow"))

    reply = answer(service, ScriptedMemories(slow), PROMPT)

    assert (reply.text, reply.decision) == ("", "gave_up")
    assert newest(service, 1)[0].lacks == "the search did not finish in time"
    assert answer(service, ScriptedMemories(slow, ScriptedMemory("shared", [found()])), PROMPT).text


async def test_a_caller_that_leaves_is_logged_and_was_shown_nothing() -> None:
    service, memories = HookService(), ScriptedMemories(ScriptedMemory("main", [found()]))

    with trio.CancelScope() as calling:
        calling.cancel()
        await service.answer(cast(AgentRegistry, memories), PROMPT)

    [entry] = hook_entries(await service.recalls.read(), 1)
    assert (entry.decision, entry.chars) == ("gave_up", 0)
    assert "the caller left" in entry.lacks
    assert (await service.answer(cast(AgentRegistry, memories), PROMPT)).decision == "injected"


async def test_two_prompts_at_the_same_moment_get_a_line_once() -> None:
    service, memories = HookService(), ScriptedMemories(ScriptedMemory("main", [found()]))
    decisions: list[str] = []

    async def ask() -> None:
        decisions.append((await service.answer(cast(AgentRegistry, memories), PROMPT)).decision)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        nursery.start_soon(ask)

    assert sorted(decisions) == ["already_shown", "injected"]


def said(*lines: str, session: str = "old", first: int = 12, path: str = "codex/old") -> Hit:
    """Return a hit in a conversation about the project, every third line of whose transcript is a message."""
    numbers = [first + 3 * at for at in range(len(lines))]
    words = [{"word": word, "weight": 4.0} for word in ("upload", "retry", "invoice")]
    return replace(
        found(),
        path=path,
        snippet="\n".join(lines),
        start_line=numbers[0],
        end_line=numbers[-1],
        explain={"words": words, "lines": numbers, **OWN},
        session=SessionInfo("codex", session, project="/home/mara/code/harbor"),
    )


MESSAGE = "Assistant: the upload of an invoice has a retry after 5 minutes"
CONTINUED = "and a further retry of the invoice upload at night, which eva watches on the board"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (said(MESSAGE), said(CONTINUED)),
        (said(MESSAGE), said(f"{MESSAGE}. {CONTINUED}", path="copies/old")),
        (said(MESSAGE), said(MESSAGE, session="fork", first=40, path="codex/fork")),
        (said(f"{MESSAGE}. {'It was quiet. ' * 60}{CONTINUED}"), said(CONTINUED)),
        (said("User: what?", MESSAGE), said(CONTINUED, first=15)),
        (said("User: retry of an invoice upload?", MESSAGE), said(MESSAGE, session="fork", first=15)),
    ],
    ids=[
        "another part",
        "another source",
        "another session",
        "cut differently",
        "answer",
        "answer elsewhere",
    ],
)
def test_a_message_is_injected_once_in_a_session(first: Hit, second: Hit) -> None:
    service, memory = HookService(), ScriptedMemory("main", [first])
    decisions = [answer(service, ScriptedMemories(memory), PROMPT).decision]

    memory.hits = [second]
    decisions += [
        answer(service, ScriptedMemories(memory), replace(PROMPT, session_id=name)).decision
        for name in ("s1", "s2")
    ]

    assert decisions == ["injected", "already_shown", "injected"]


def test_parts_of_one_message_are_injected_once_in_a_text() -> None:
    memory = ScriptedMemory("main", [said(MESSAGE), said(CONTINUED)])

    assert answer(HookService(), ScriptedMemories(memory), PROMPT).hits == 1


def test_another_message_and_another_line_of_a_note_are_still_new() -> None:
    service, memory = HookService(), ScriptedMemory("main", [said(MESSAGE)])
    texts = []
    for hits in ([said(MESSAGE)], [said(CONTINUED, first=15)], [found()], [found("Retry of an upload: eva")]):
        memory.hits = hits
        texts.append(answer(service, ScriptedMemories(memory), PROMPT).text)

    assert all(texts)


def test_what_the_user_said_in_the_session_is_not_injected() -> None:
    service, memory = HookService(), ScriptedMemory("main", [])
    memories = ScriptedMemories(memory)
    answer(service, memories, replace(PROMPT, prompt=f"Please remember this. {FACT}. Now go on with it."))
    memory.hits = [found()]

    assert answer(service, memories, PROMPT).decision == "already_shown"
    assert answer(service, memories, replace(PROMPT, session_id="s2")).decision == "injected"


def test_a_question_that_was_asked_before_is_injected_with_its_answer() -> None:
    question = "User: retry of the invoice upload"
    memories = ScriptedMemories(ScriptedMemory("main", [said(question, "Assistant: Yes.")]))

    assert answer(HookService(), memories, PROMPT).decision == "injected"


def test_what_the_start_of_a_session_showed_is_not_injected() -> None:
    long = f"{FACT}, {'then they wait for the night, ' * 8}then an upload of invoices has a last retry"
    memory = ScriptedMemory("main", [found(long)])
    memory.note = f"# Harbor\n\n- {long}"
    service = HookService()
    start = replace(PROMPT, event="session_start", prompt="")

    assert answer(service, ScriptedMemories(memory), start).decision == "injected"
    assert answer(service, ScriptedMemories(memory), PROMPT).decision == "already_shown"


@pytest.mark.parametrize(
    ("hit", "lacks"),
    [
        (
            replace(found("Uploads run at night"), path="cooking.md"),
            "shares 1 of 2 distinctive words; 0% likely to be the answer",
        ),
        (
            replace(found(), superseded_by=Supersession("a.md", 1, 1, "a.md#L1", "2026-11-01", "2026-10-01")),
            "superseded by a later statement",
        ),
        (said("User: retry of the invoice upload?"), "a question without its answer"),
        (replace(found(), explain={"words": [], "lines": [3], **OWN}), "the prompt has no distinctive word"),
    ],
)
def test_what_the_best_candidate_lacks_is_logged(hit: Hit, lacks: str) -> None:
    service = HookService()
    answer(service, ScriptedMemories(ScriptedMemory("main", [hit])), PROMPT)

    [entry] = newest(service, 1)
    assert (entry.decision, entry.lacks) == ("not_sure", lacks)
    assert entry.candidate == f"{hit.path}#L{hit.start_line}"


def test_a_likely_location_is_named_once_in_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confident_matches, "MIN_INJECTED", 1.0)
    service, memories = HookService(), ScriptedMemories(ScriptedMemory("main", [found()]))

    replies = [answer(service, memories, PROMPT) for _ in range(2)]

    assert [reply.decision for reply in replies] == ["related", "already_shown"]
    assert replies[0].text == (
        f"<memd-memory>\nPossibly related: {PATH}: memory_get, from line 3\n</memd-memory>"
    )
    again, first = newest(service, 2)
    assert (first.decision, first.places, first.candidate) == ("related", [f"{PATH}#L3"], "")
    assert (again.decision, again.places, again.candidate) == ("already_shown", [], f"{PATH}#L3")


def test_a_line_whose_location_was_named_can_still_be_injected(monkeypatch: pytest.MonkeyPatch) -> None:
    service, memories = HookService(), ScriptedMemories(ScriptedMemory("main", [found()]))
    with monkeypatch.context() as patch:
        patch.setattr(confident_matches, "MIN_INJECTED", 1.0)
        answer(service, memories, PROMPT)

    assert answer(service, memories, PROMPT).decision == "injected"


def test_a_candidate_that_was_shown_or_is_too_long_is_logged_as_such() -> None:
    service, memory = HookService(), ScriptedMemory("main", [found()])
    short = ScriptedMemories(memory, hooks=HooksSettings(max_tokens=5))
    for memories in (short, ScriptedMemories(memory), ScriptedMemories(memory)):
        answer(service, memories, PROMPT)

    again, _, first = newest(service, 3)

    assert (again.candidate, again.lacks) == (f"{PATH}#L3", "already shown or said in this session")
    assert (first.candidate, first.lacks) == (f"{PATH}#L3", "too long for hooks.max_tokens")


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


@pytest.fixture
def real(tmp_path: Path) -> Iterator[BlockingRegistry]:
    """A real agent with a note."""
    with BlockingRegistry(tmp_path, config_in(tmp_path)) as real:
        real.note(PATH, f"# Harbor\n\n- {FACT}\n")
        yield real


def test_a_session_starts_with_the_newest_facts_once(real: BlockingRegistry) -> None:
    service = HookService()
    start = replace(PROMPT, event="session_start", prompt="")

    first, again = (real.run(service.answer, real.registry, start) for _ in range(2))

    assert first.decision == "injected"
    assert "1 note on harbor" in first.text
    assert FACT in first.text
    assert again.decision == "nothing_new"
    assert not real.run(started, real.agents["main"], "s1")  # a sync was requested before
    assert real.run(started, real.agents["main"], "s2")


async def started(agent: Agent, session: str) -> bool:
    """Return whether the start of a session requests a sync."""
    return agent.session_started(session)


def recent(session: str, title: str, *lines: str, day: int = 0) -> RecentSession:
    """Return a session of the project."""
    facts = SessionFacts("codex", session, title=title, updated_ms=1_795_000_000_000 + day * 86_400_000)
    return RecentSession(f"codex/{session}", facts, lines)


def test_a_session_starts_with_the_last_sessions_of_the_project_besides_the_notes() -> None:
    memory, shared = ScriptedMemory("main", []), ScriptedMemory("shared", [])
    memory.sessions = [
        recent("s1", "This session", "User: go on with the retry"),
        recent("old", "Queue for order mails", "Assistant: We decided not to retry bounces.", day=1),
    ]
    shared.sessions = [recent("new", "Ports", "User: which port?", "User: move staging to 9000", day=2)]
    start = replace(PROMPT, event="session_start", prompt="")

    reply = answer(HookService(), ScriptedMemories(memory, shared), start)

    assert reply.text.split("\n")[2:-1] == [
        f"- {FACT} ({PATH}#L3)",
        "- Session 'Ports': move staging to 9000 (codex/new, codex, 2026-11-20)",
        "- Session 'Queue for order mails': We decided not to retry bounces. (codex/old, codex, 2026-11-19)",
    ]


def test_a_project_without_notes_starts_with_its_last_sessions() -> None:
    memory = ScriptedMemory("main", [])
    memory.note = "# Cooking"
    memory.sessions = [recent("old", "", "User: move staging to 9000")]

    reply = answer(HookService(), ScriptedMemories(memory), replace(PROMPT, event="session_start", prompt=""))

    assert "Last sessions on harbor:\n- Session: move staging to 9000 (codex/old, " in reply.text


def test_a_project_without_notes_starts_in_silence(real: BlockingRegistry) -> None:
    start = replace(PROMPT, event="session_start", cwd="/home/mara/code/unknown")

    assert real.run(HookService().answer, real.registry, start).decision == "empty"


@pytest.mark.parametrize("event", ["compaction", "session_end"])
def test_a_compaction_or_an_end_requests_a_sync(real: BlockingRegistry, event: str) -> None:
    params = replace(PROMPT, event=event)

    reply = real.run(HookService().answer, real.registry, params)

    assert (reply.text, reply.decision) == ("", "indexed")
    real.run(wait_indexed, real.agents["main"], 1)


async def wait_indexed(agent: Agent, files: int) -> None:
    """Wait until so many files are indexed, without a search."""
    with trio.fail_after(60):
        while (await agent.status(deep=False)).files < files:
            await trio.lowlevel.checkpoint()
