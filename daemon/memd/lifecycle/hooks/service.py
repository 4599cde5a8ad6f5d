"""Answers hooks: decides what text a session in another program gets, and records the decision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePath

import trio
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.agents.origins import current_origins
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import RecentSession, load_recent_sessions
from memd.lifecycle.hooks.actions import ACTION_EVENTS, FindAdvice, write_advice
from memd.lifecycle.hooks.confident_matches import WITHHELD, decide, find_candidates
from memd.lifecycle.hooks.injection import (
    PROMPT_HEADING,
    HookDecision,
    ShownLine,
    inject,
    name_location,
)
from memd.lifecycle.hooks.line_confidence import MIN_NAMED
from memd.lifecycle.hooks.log import hook_recall
from memd.lifecycle.hooks.opening import (
    MAX_SESSIONS,
    OPENING_TOKENS,
    describe,
    last_sessions,
    newest_facts,
    project_files,
)
from memd.lifecycle.hooks.project import Project, project_in
from memd.lifecycle.hooks.prompts import read_prompt, sentences_of
from memd.lifecycle.hooks.seen import SeenFacts
from memd.lifecycle.recalls.log import RecallLog
from memd.settings.hooks import HooksSettings
from memd.sources.projects import find_project
from memd.system.clock import Clock, wall_clock_ms
from memd.text.tokens import asks_at_end
from memd.text.transcripts.injected import without_injected
from memd.text.trust.origins import ORIGINS, OUTSIDE, UNKNOWN, LineOrigins
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.hooks import HookParams, HookReply
from memd_client.messages import FileEntry, FilesParams, GetParams, Hit, SearchParams, SearchReply

DEADLINE_MS = 50
"""Deadline of a search: it waits 40 ms at most for the prompt's vector, and otherwise uses keywords."""

TIMEOUT_S = 0.25
"""How long an answer may take on a busy machine. A later one is not worth the wait, and the hook stays silent."""

SESSION_START_TIMEOUT_S = 1.0

TOO_SLOW = HookDecision("gave_up", lacks="the search did not finish in time")
SEEN = "already shown or said in this session"

MAX_SENTENCES = 50
"""First sentences of a prompt that are remembered."""

MAX_HITS = 6
MAX_HIT_CHARS = 3_600
"""Hits whose lines are compared with a prompt, and the characters of their snippets."""

NOTES = (".md", ".mdc", ".markdown")
"""Endings of the files that have notes."""

MAX_FILES = 1_000
"""Newest files among which those on a project are searched."""


class HookService:
    """Decides about injections, for all agents and programs. Its own state is in RAM and bounded."""

    def __init__(
        self,
        clock: Clock = wall_clock_ms,
        recalls: RecallLog | None = None,
        find_advice: FindAdvice | None = None,
    ) -> None:
        self.recalls = recalls or RecallLog(clock=clock)
        self._find_advice = find_advice
        self._shown, self._said = SeenFacts(), SeenFacts()

    def __repr__(self) -> str:
        return f"<HookService {self._shown!r}, {self.recalls!r}>"

    async def answer(self, memories: AgentRegistry, params: HookParams) -> HookReply:
        """Return the text for a session at an event, and record the decision."""
        settings = memories.settings.hooks
        memory = memories.recalled(params.agent or settings.agent)
        decision = HookDecision("gave_up", lacks="the caller left before the answer, or memory failed")
        try:
            if not settings.enabled:
                decision = HookDecision("off")
            elif await memories.is_excluded(params.cwd):
                decision, params = HookDecision("excluded"), replace(params, prompt="")
            elif params.event == "prompt":
                decision = await self._at_prompt(memory, params, settings.max_tokens)
            elif params.event == "session_start":
                decision = await self._at_start(memory, params)
            elif params.event in ACTION_EVENTS:
                decision = await self._at_action(memory, params, settings)
            else:
                decision = HookDecision("indexed")
                for each in memory:
                    each.compaction_done()
        finally:
            # Nearly all actions get nothing, and would fill the log.
            if params.event not in ACTION_EVENTS or decision.code not in ("empty", "off", "excluded"):
                self.recalls.add(hook_recall(params, decision, [each.agent_id for each in memory]))
        return HookReply(text=decision.text, decision=decision.code, hits=len(decision.lines))

    async def _at_prompt(self, memory: Sequence[Agent], params: HookParams, max_tokens: int) -> HookDecision:
        asked = read_prompt(params.prompt)
        if asked.silence:
            return HookDecision("empty" if asked.silence == "acknowledgement" else "machine_prompt")
        for sentence in sentences_of(without_injected(params.prompt))[:MAX_SENTENCES]:
            if not asks_at_end(sentence):
                self._said.add(params.program, params.session_id, ShownLine(sentence))
        until = trio.current_time() + TIMEOUT_S
        replies = await _search(memory, asked.query, params, until)
        if not any(reply.hits for reply in replies):
            return HookDecision("empty") if len(replies) == len(memory) else TOO_SLOW
        project = await trio.to_thread.run_sync(_project_of, params.cwd)
        find = partial(find_candidates, asked.query, project=project)
        candidates = [line for reply in replies for line in find(reply.hits, model=reply.model)]
        outside = [line for line in candidates if line.fault.startswith(WITHHELD)]
        withheld = max(outside, key=lambda line: line.probability, default=None)
        if withheld is not None:  # such lines may have taken the places of other hits
            replies = await _search(memory, asked.query, params, until, [*ORIGINS[:OUTSIDE]])
            candidates = [line for reply in replies for line in find(reply.hits, model=reply.model)]
        decision = decide(candidates)
        if decision.location:
            decision = self._name(params, decision)
        elif decision.lines:
            decision = self._inject(params, PROMPT_HEADING, decision.lines, max_tokens)
        if withheld is None or withheld.probability < MIN_NAMED:
            return decision
        code = decision.code if decision.text else WITHHELD
        return replace(decision, code=code, candidate=withheld.line.place, lacks=withheld.fault)

    async def _at_start(self, memory: Sequence[Agent], params: HookParams) -> HookDecision:
        for each in memory:
            each.session_started(params.session_id)
        project = await trio.to_thread.run_sync(_project_of, params.cwd)
        if not project:
            return HookDecision("empty")
        heading, lines, sessions = "", list[ShownLine](), list[RecentSession]()
        with trio.move_on_after(SESSION_START_TIMEOUT_S) as reading:
            for each in memory:
                reply = await each.files(FilesParams(limit=MAX_FILES))
                notes = [file for file in reply.files if file.path.endswith(NOTES)]
                paths = [file.path for file in notes]
                origins = await each.perform(partial(current_origins, paths=paths))
                notes = [file for file in notes if not origins.get(file.path, UNKNOWN).is_all(OUTSIDE)]
                files = project_files(notes, project)
                texts = {
                    file.path: await _text(each, file, origins.get(file.path, UNKNOWN))
                    for file in files.to_read
                }
                found = newest_facts(files, texts, project)
                if found and not lines:
                    heading, lines = describe(project.name, files), found
                newest = partial(load_recent_sessions, project=project.folder, most=MAX_SESSIONS + 1)
                sessions += await each.read_index(newest)
        sessions.sort(key=lambda session: -session.facts.updated_ms)
        lines += last_sessions(sessions, params.session_id)
        heading = heading or describe(project.name, None)
        if not lines:
            return TOO_SLOW if reading.cancelled_caught else HookDecision("empty")
        decision = self._inject(params, heading, lines, OPENING_TOKENS)
        return replace(decision, code="nothing_new") if decision.code == "already_shown" else decision

    async def _at_action(
        self, memory: Sequence[Agent], params: HookParams, settings: HooksSettings
    ) -> HookDecision:
        if not settings.actions or params.program in settings.silent_at_actions:
            return HookDecision("off")
        advice = await self._find_advice(memory, params) if self._find_advice is not None else None
        if advice is None:
            return HookDecision("empty")
        key, subject = (params.program, params.session_id), ShownLine("", messages=(advice.subject,))
        new = [line for line in advice.lines if not self._shown.is_seen(*key, line)]
        if not new or self._shown.is_seen(*key, subject):
            return HookDecision("already_shown", candidate=advice.lines[0].place, lacks=SEEN)
        decision = write_advice(advice._replace(lines=tuple(new)))
        for line in (subject, *decision.lines) if decision.lines else ():
            self._shown.add(*key, line)
        return decision

    def _inject(
        self, params: HookParams, heading: str, lines: Sequence[ShownLine], max_tokens: int
    ) -> HookDecision:
        """Return the text of lines new to the session, and remember them, without any wait: two prompts at once can't
        both get a line."""
        key, new, same = (params.program, params.session_id), list[ShownLine](), SeenFacts()
        for line in lines:
            is_said = len(line.quoted) < 2 and self._said.is_seen(*key, line)
            if not is_said and not self._shown.is_seen(*key, line) and not same.is_seen(*key, line):
                new.append(line)
                same.add(*key, line)
        if not new:
            return HookDecision("already_shown", candidate=lines[0].place, lacks=SEEN)
        text, shown = inject(heading, new, max_tokens)
        for line in shown:
            self._shown.add(*key, line)
        if not shown:
            return HookDecision("not_sure", candidate=new[0].place, lacks="too long for hooks.max_tokens")
        return HookDecision("injected", text, tuple(shown))

    def _name(self, params: HookParams, judged: HookDecision) -> HookDecision:
        """Return the location of a line that is new to the session, and remember the location."""
        key = (params.program, params.session_id)
        location = ShownLine(judged.location)
        if self._shown.is_seen(*key, location) or any(
            seen.is_seen(*key, judged.lines[0]) for seen in (self._shown, self._said)
        ):
            return replace(judged, code="already_shown", lines=(), lacks=SEEN)
        self._shown.add(*key, location)
        return replace(judged, code="related", text=name_location(judged.location), candidate="", lacks="")


def _project_of(cwd: str) -> Project:
    """Return the project of a session in a folder (blocking)."""
    folder = find_project(cwd)
    return project_in("" if folder == os.path.expanduser("~") else folder)


async def _search(
    memory: Sequence[Agent],
    query: str,
    params: HookParams,
    until: float,
    origins: list[str] | None = None,
) -> list[SearchReply]:
    """Return the replies of all chosen memories that were fast enough, without the session's own conversation."""
    replies = list[SearchReply]()

    async def search(agent: Agent) -> None:
        with suppress(DeadlineExceededError):
            reply = await agent.search(
                SearchParams(
                    query=query,
                    max_results=MAX_HITS,
                    max_chars=MAX_HIT_CHARS,
                    min_score=0.0,  # the lines are judged here, more strictly than hits are
                    explain=True,
                    deadline_ms=DEADLINE_MS,
                    exclude_session=params.session_id,
                    origins=origins,
                )
            )
            hits = [hit for hit in reply.hits if not _is_own(hit, params)]
            replies.append(replace(reply, hits=hits))

    with trio.move_on_at(until):
        async with trio.open_nursery() as nursery:
            for agent in memory:
                nursery.start_soon(search, agent)
    return replies


def _is_own(hit: Hit, params: HookParams) -> bool:
    """Return whether a hit is from the session itself: by its id, or by its transcript's name."""
    if hit.session is None:
        return False
    name = PurePath(params.transcript_path).name
    session = hit.session.id
    return session == params.session_id or (bool(name) and (hit.path.endswith(name) or session in name))


async def _text(memory: Agent, file: FileEntry, origins: LineOrigins) -> str:
    """Return the text of a note with blank lines for those of other people; "" if it can't be read."""
    try:
        text = (await memory.get(GetParams(path=file.path))).text
    except MemdError:
        return ""
    return "\n".join(origins.without_outside(text.split("\n")))
