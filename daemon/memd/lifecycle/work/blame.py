"""Which sessions touched a file or one of its lines, what the user requested, and what was decided."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import trio

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import NO_FACTS, load_session_facts
from memd.index.work import RAN, WorkRow, WorkScope, find_by_file, find_work, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, read_work
from memd.lifecycle.work.file_names import (
    FileName,
    committed,
    is_known,
    is_same_file,
    locate,
    moves_in,
    names_by_git,
    source_of,
)
from memd.lifecycle.work.requests import Requests
from memd.system.sqlite import Database
from memd.text.query.terms import phrase_term
from memd_client.errors import BadParamsError
from memd_client.messages import BlameParams, BlameReply, FileTouch

MAX_ROWS, MAX_MOVES, MAX_NAMES, MAX_FILE_BYTES = 5_000, 200, 20, 4 << 20
MIN_LINE_CHARS: Final = 8
"""Shortest line that tells where an edit was: `}` is everywhere."""

WROTE, COMMITTED, NEAR, FAR, UNKNOWN = 0, 1, 2, 32, 1_000
"""Distances of edits from a line: they wrote it, or git tells that; then the number of lines between, up to `FAR`."""


class _Session(NamedTuple):
    """A session that touched the file, and how near the line it did."""

    distance: int
    is_elsewhere: bool
    touch: FileTouch


async def find_touches(registry: AgentRegistry, params: BlameParams) -> BlameReply:
    """Return the sessions that touched a file; those that only read it if no other did."""
    if not params.file.strip():
        raise BadParamsError("blame: the file is empty")
    agents, names, is_file = registry.recalled(params.agent), list[FileName](), False
    if os.path.isabs(params.file):
        names = await trio.to_thread.run_sync(lambda: names_by_git(locate(params.file)))
        for agent in agents * 2:  # what one agent moved, another may have moved before
            names = await read_work(agent, partial(with_moves, names=names))
        is_file = len(names) > 1 or await trio.to_thread.run_sync(is_known, names[0])
    if not is_file:
        end = os.path.basename(params.file) if names else params.file
        paths = [path for agent in agents for path in await read_work(agent, partial(paths_named, end=end))]
        is_file = bool(names) and names[0].path in paths
        names = names if is_file else [locate(path) for path in dict.fromkeys(paths)][:MAX_NAMES]
    sessions = list[_Session]()
    for agent in agents:
        sessions += await read_work(agent, partial(find_in, agent=agent, params=params, names=names))
    best = min((session.distance for session in sessions), default=UNKNOWN)
    sessions = [session for session in sessions if session.distance == best or best > FAR]
    sessions = [session for session in sessions if session.touch.actions != ["read"]] or sessions
    sessions.sort(key=lambda session: (session.is_elsewhere, -session.touch.time_ms))
    matched = "line" if best < NEAR else "near" if best <= FAR else "unknown"
    touches = [session.touch for session in sessions[: params.limit]]
    file = names[0].path if is_file else params.file
    return BlameReply(file, [name.path for name in names], touches, matched if params.line else "")


def line_distance(row: WorkRow, lines: Sequence[str], line: int) -> int:
    """Return how far an edit is from a line of the file as it is now."""
    new, old = (span.split("\n") if span else [] for span in (row.text, row.detail))
    text, telling = lines[line - 1], {other for other in (*new, *old) if len(other.strip()) >= MIN_LINE_CHARS}
    parts = [[*part] for is_gap, part in groupby(new, lambda other: other == "…") if not is_gap]
    starts = [(start, part) for part in parts for start in range(max(0, line - len(part)), line)]
    is_there = any([*lines[start : start + len(part)]] == part for start, part in starts)
    if text not in old and (is_there or (text in new and text in telling and lines.count(text) == 1)):
        return WROTE
    between = (abs(number - line) for number, other in enumerate(lines, 1) if other in telling)
    return NEAR + min(between, default=UNKNOWN)


def find_in(db: Database, agent: Agent, params: BlameParams, names: Sequence[FileName]) -> list[_Session]:
    """Return an agent's sessions that touched a file by one of its names (blocking)."""
    sessions = defaultdict[str, list[WorkRow]](list)
    for row in sorted(_rows_of(db, names, params.file), key=lambda row: row.id):
        sessions[row.path].append(row)
    file = locate(params.file)
    lines = _lines_of(file.path) if params.line else []
    line = params.line if params.line and params.line <= len(lines) else 0
    after, until = committed(file, lines[line - 1], line) if line else (0, 0)
    near = dict[str, tuple[int, bool, int]]()
    for path, steps in sessions.items():
        edits = [step for step in steps if step.action != "read"]
        distances = [line_distance(step, lines, line) for step in edits] if line else []
        distances += [COMMITTED for step in edits if after < step.time_ms <= until]
        near[path] = min(distances, default=UNKNOWN), not edits, -steps[-1].time_ms
    places, touches = SessionPlaces(agent, db, sessions), list[_Session]()
    for path in sorted(sessions, key=lambda path: near[path])[: params.limit]:
        steps = [step for step in sessions[path] if step.action != "read"] or sessions[path]
        first = min(steps, key=lambda step: line_distance(step, lines, line)) if line else steps[0]
        requests, facts = Requests(db, path), places.facts[path]
        changes = [step for step in load_steps(db, path) if step.action not in (RAN, "read")]
        touch = FileTouch(
            list(dict.fromkeys(step.action for step in sessions[path])),
            requests.at(first.place)[2],
            requests.decisions(steps, changes),
            steps[-1].time_ms or facts.updated_ms,
            **places.of(first),
        )
        project = os.path.dirname(file.repository.common_dir) if file.repository else ""
        touches.append(_Session(near[path][0], facts.project != project, touch))
    return touches


def paths_named(db: Database, end: str) -> list[str]:
    """Return the paths of files with a name, or whose path ends so, the last touched ones first."""
    rows = find_by_file(db, [os.path.basename(end)], MAX_ROWS)
    return list(dict.fromkeys(row.subject for row in rows if f"/{row.subject}".endswith(f"/{end}")))


def with_moves(db: Database, names: Sequence[FileName]) -> list[FileName]:
    """Return names of a file with those before its moves by agents (blocking)."""
    names = [*names]
    for name in names:
        for source, time_ms in _sources(db, name):
            if len(names) < MAX_NAMES and all(source.path != other.path for other in names):
                first, *others = names_by_git(source)
                names += [first._replace(until_ms=time_ms if os.path.lexists(source.path) else 0), *others]
    return names


def _sources(db: Database, name: FileName) -> Iterator[tuple[FileName, int]]:
    """Yield the names from which agents moved a file, by commands and by patches, each with the time."""
    words = " OR ".join(phrase_term(part).match for part in name.path.split("/")[-4:])
    scope = WorkScope(actions=(RAN,), statuses=("ok", "unknown"))
    rows = find_work(db, f"text : (mv AND ({words}))", MAX_MOVES, scope)
    moves = [(row, *move) for row, _ in rows for move in moves_in(row.text, row.folder)]
    for row in find_by_file(db, [os.path.basename(name.path)], MAX_MOVES):
        steps = load_steps(db, row.path, row.id - 2, row.id - 1) if row.action == "created" else []
        if [step.action for step in steps] == ["edited", "deleted"] and steps[0].place == row.place:
            moves.append((row, steps[1].subject, row.subject))
    facts = load_session_facts(db, {row.path for row, *_ in moves})
    for row, source, target in moves:
        session, worktree = facts.get(row.path, NO_FACTS), locate(target).root
        for root in {worktree, session.cwd or worktree}:
            path = os.path.join(root, name.inner)
            earlier = source_of(path, source, target)
            if earlier and is_same_file(path, name, session):
                yield locate(os.path.join(name.root, os.path.relpath(earlier, root))), row.time_ms


def _rows_of(db: Database, names: Sequence[FileName], file: str) -> list[WorkRow]:
    """Return the steps with a file that were done while it had its name."""
    rows = find_by_file(
        db, {os.path.basename(path) for path in (file, *(name.path for name in names))}, MAX_ROWS
    )
    facts, by_path = load_session_facts(db, {row.path for row in rows}), {name.path: name for name in names}
    same, own = dict[tuple[str, str], FileName | None](), list[WorkRow]()
    for row in rows:
        session, path = facts.get(row.path, NO_FACTS), os.path.expanduser(row.subject)
        if (path, session.cwd) not in same:
            others = (name for name in names if os.path.isabs(path) and is_same_file(path, name, session))
            same[path, session.cwd] = by_path.get(path) or next(others, None)
        name, is_done = same[path, session.cwd], row.status not in ("failed", "refused")
        if (
            name
            and is_done
            and (not row.time_ms or name.since_ms < row.time_ms <= (name.until_ms or row.time_ms))
        ):
            own.append(row)
    return own


def _lines_of(path: str) -> list[str]:
    """Return the lines of a file; empty if it can't be read or is too large."""
    try:
        is_text = os.path.isfile(path) and os.path.getsize(path) <= MAX_FILE_BYTES
        return Path(path).read_text("utf-8", "replace").split("\n") if is_text else []
    except OSError:
        return []
