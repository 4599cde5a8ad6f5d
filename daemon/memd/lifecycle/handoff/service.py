"""Chooses the session to hand on, and checks on disk what became of its files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import PurePath
from typing import Final, NamedTuple

import trio

from memd.agents.agent import Agent
from memd.agents.conversations import list_sessions, load_work
from memd.agents.registry import AgentRegistry
from memd.git.checkout import GitError, find_repository
from memd.index.outside_words import find_outside_lines
from memd.index.transcripts import SessionFacts
from memd.lifecycle.handoff.digest import HandedSession, write_digest
from memd.programs.catalog import PROGRAMS, how_to_start
from memd.programs.conversation import Conversation
from memd.programs.work import FileChange
from memd.search.sessions import day_of, session_info
from memd.sources.projects import find_project, is_in_project
from memd.system.clock import wall_clock_ms
from memd.system.untrusted import on_one_line
from memd_client.errors import BadParamsError, FileMissingError
from memd_client.escaping import NOTICE, OUTSIDE, mark_lines
from memd_client.messages import OriginLines, SessionHandoffParams, SessionHandoffReply

MAX_TRIED: Final = 20
"""Newest sessions of a project that are loaded to find one with a request and an answer."""

MAX_LISTED: Final = 10
GRACE_MS: Final = 2_000
"""How long after the last record of a session its own changes of files may be written."""


class _Candidate(NamedTuple):
    agent: Agent
    path: str
    facts: SessionFacts


async def hand_off(registry: AgentRegistry, params: SessionHandoffParams) -> SessionHandoffReply:
    """Return the digest of the requested session, or of the newest of the project."""
    if params.to and not how_to_start(params.to, "", ""):
        known = ", ".join(name for name in PROGRAMS if how_to_start(name, "", ""))
        raise BadParamsError(
            f"session_handoff: {params.to!r} is not a program that is started with a prompt",
            hint=f"one of {known}",
        )
    sessions = [
        _Candidate(agent, *session)
        for agent in registry.recalled(params.agent)
        for session in await agent.perform(list_sessions)
    ]
    sessions.sort(key=lambda session: -session.facts.updated_ms)
    chosen, conversation = await _choose(sessions, params)
    facts = chosen.facts
    states = await trio.to_thread.run_sync(_states_of, conversation, facts)
    source = next((source for source in chosen.agent.config.sources if source.name == facts.program), None)
    program = source.program if source is not None else ""
    title = PROGRAMS[program].title if program in PROGRAMS else facts.program
    text = write_digest(
        HandedSession(facts, title, conversation.messages, conversation.work, states, wall_clock_ms())
    )
    find = partial(find_outside_lines, path=chosen.path, text=text)
    lines, why = await chosen.agent.read_index(find)
    runs = [OriginLines(line, line, OUTSIDE, why) for line in lines]
    text = mark_lines(text, runs, count(1)).replace("\n", f"\n{NOTICE}\n" if runs else "\n", 1)
    command = f"memctl handoff --session {shlex.quote(facts.session)}"
    command += f" --agent {shlex.quote(params.agent)}" if params.agent else ""
    return SessionHandoffReply(
        agent=chosen.agent.agent_id,
        path=chosen.path,
        session=session_info(facts, program),
        text=text,
        start=how_to_start(params.to, command, facts.cwd),
    )


async def _choose(
    sessions: Sequence[_Candidate], params: SessionHandoffParams
) -> tuple[_Candidate, Conversation]:
    """Return a session and its conversation; sessions are given newest first."""
    if params.session:
        chosen = _named(sessions, params.session)
        return chosen, await _load(chosen)
    project = await trio.to_thread.run_sync(find_project, params.project)
    tried = 0
    for session in sessions:
        facts = session.facts
        is_usable = facts.kind == "main" and facts.session != params.exclude_session
        if is_usable and tried < MAX_TRIED and is_in_project(facts.project, project):
            tried += 1
            try:
                conversation = await _load(session)
            except FileMissingError:
                continue
            if {"user", "assistant"} <= {message.role for message in conversation.messages}:
                return session, conversation
    others = dict.fromkeys(PurePath(session.facts.project).name for session in sessions)
    named = ", ".join(on_one_line(name, 80) for name in [*filter(None, others)][:MAX_LISTED])
    raise FileMissingError(
        f"no session of {on_one_line(project, 200) or 'any project'} has a request and an answer",
        hint=f"name another project: {named}" if named else "add a program first: memctl sources add NAME",
        data={"path": project},
    )


async def _load(session: _Candidate) -> Conversation:
    return await session.agent.perform(partial(load_work, path=session.path))


def _named(sessions: Sequence[_Candidate], name: str) -> _Candidate:
    """Return the session of an id, of a path in the index, or of the beginning of an id."""
    exact = [session for session in sessions if name in (session.facts.session, session.path)]
    matches = {
        session.facts.session: session for session in sessions if session.facts.session.startswith(name)
    }
    if exact or len(matches) == 1:
        return exact[0] if exact else next(iter(matches.values()))
    if not matches:
        raise FileMissingError(
            f"no session has an id that begins with {name[:80]!r}",
            hint="`memctl search --json` shows the ids of sessions; its program may have deleted the session since",
            data={"path": name[:80]},
        )
    listed = "; ".join(
        f"{session_id} ({day_of(session.facts.updated_ms)}, {on_one_line(session.facts.title, 60)})"
        for session_id, session in [*matches.items()][:MAX_LISTED]
    )
    raise BadParamsError(
        f"{len(matches)} sessions have an id that begins with {name[:80]!r}", hint=f"one of {listed}"
    )


def _states_of(conversation: Conversation, facts: SessionFacts) -> dict[str, str]:
    """Return what is on disk now of the files that a session changed in its project (blocking)."""
    roots = tuple(f"{root}{os.sep}" for root in {facts.project, facts.cwd} if os.path.isabs(root))
    steps = [
        step for step in conversation.work or () if isinstance(step, FileChange) and step.action != "read"
    ]
    paths = (
        {step.path for step in steps if step.path.startswith(roots) and "\0" not in step.path}
        if roots
        else set()
    )
    uncommitted, states = _uncommitted(facts.cwd or facts.project, paths), dict[str, str]()
    for path in paths:
        try:
            is_newer = os.lstat(path).st_mtime_ns // 1_000_000 > facts.updated_ms + GRACE_MS
        except (OSError, ValueError):
            states[path] = "not on disk now"
            continue
        notes = ("changed since" if is_newer else "", "uncommitted" if path in uncommitted else "")
        states[path] = ", ".join(filter(None, notes))
    return states


def _uncommitted(folder: str, paths: Iterable[str]) -> set[str]:
    """Return the paths with changes that git has not committed; none if git doesn't answer in time (blocking)."""
    repository = find_repository(folder)
    if repository is None:
        return set()
    chosen = [path for path in paths if path.startswith(f"{repository.root}/")][:MAX_PATHS]
    options = ("--porcelain", "-z", "-uall", "--ignore-submodules=all", "--no-renames")
    with suppress(GitError):
        rows = repository.run("status", *options, "--", *chosen).split("\0") if chosen else []
        return {os.path.join(repository.root, row[3:]) for row in rows if len(row) > 3}
    return set()


MAX_PATHS: Final = 200
"""Most files that git is asked about."""
