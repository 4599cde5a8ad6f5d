"""Which sessions touched a file or one of its lines, what the user requested, and what was decided."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

import trio

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import NO_FACTS, load_session_facts
from memd.index.work import RAN, WorkRow, find_by_file, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, read_work
from memd.lifecycle.work.file_names import FileName, committed, is_same_file, locate, names_by_git, with_moves
from memd.lifecycle.work.requests import Requests
from memd.system.sqlite import Database
from memd.system.untrusted import on_one_line
from memd_client.errors import BadParamsError
from memd_client.work import BlameParams, BlameReply, FileTouch

MAX_ROWS, MAX_PATHS, MAX_FILE_BYTES = 5_000, 50, 4 << 20
MIN_LINE_CHARS: Final = 8
"""Shortest line that tells where an edit was: `}` is everywhere."""

WROTE, COMMITTED, NEAR, FAR, UNKNOWN = 0, 1, 2, 32, 1_000
"""Distances of edits from a line: they wrote it, or git tells that; then the number of lines between, up to `FAR`."""


async def find_touches(registry: AgentRegistry, params: BlameParams) -> BlameReply:
    """Return the sessions that touched a file; those that only read it if no other did."""
    if not params.file.strip():
        raise BadParamsError("blame: the file is empty")
    agents, names, end = registry.recalled(params.agent), list[FileName](), params.file
    if os.path.isabs(params.file):
        if await trio.to_thread.run_sync(os.path.isdir, params.file):
            raise BadParamsError(
                f"blame: {on_one_line(params.file, 200)} is a folder", hint="name one of the files in it"
            )
        names = await trio.to_thread.run_sync(lambda: names_by_git(locate(params.file)))
        for agent in agents * 2:  # what one agent moved, another may have moved before
            names = await read_work(agent, partial(with_moves, names=names))
        is_known = await trio.to_thread.run_sync(lambda: os.path.lexists(params.file) or bool(names[0].log()))
        end = "" if is_known or len(names) > 1 else os.path.basename(params.file)
    file = names[0].path if names else params.file
    if end:
        paths = [path for agent in agents for path in await read_work(agent, partial(paths_named, end=end))]
        if not names or names[0].path not in paths:
            names = [locate(path) for path in dict.fromkeys(paths)][:MAX_PATHS]
    find = partial(find_in, params=params, names=names)
    sessions = [item for agent in agents for item in await read_work(agent, partial(find, agent=agent))]
    best = min((distance for distance, *_ in sessions), default=UNKNOWN)
    sessions = [session for session in sessions if session[0] == best or best > FAR]
    sessions = [session for session in sessions if session[2].actions != ["read"]] or sessions
    sessions.sort(key=lambda session: (session[1], -session[2].time_ms))
    matched = "line" if best < NEAR else "near" if best <= FAR else "unknown"
    touches = [touch for *_, touch in sessions[: params.limit]]
    return BlameReply(file, [name.path for name in names], touches, matched if params.line else "file")


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


def find_in(
    db: Database, agent: Agent, params: BlameParams, names: Sequence[FileName]
) -> list[tuple[int, bool, FileTouch]]:
    """Return an agent's sessions that touched a file: distance from the line, whether of another project (blocking)."""
    sessions, near = defaultdict[str, list[WorkRow]](list), dict[str, tuple[int, bool, int]]()
    for row in sorted(_rows_of(db, names, params.file), key=lambda row: row.id):
        sessions[row.path].append(row)
    file = locate(params.file)
    lines = _lines_of(file.path) if params.line else []
    line = params.line if params.line and params.line <= len(lines) else 0
    after, until = committed(file, lines[line - 1], line) if line else (0, 0)
    for path, steps in sessions.items():
        edits = [step for step in steps if step.action != "read"]
        distances = [line_distance(step, lines, line) for step in edits] if line else []
        distances += [COMMITTED for step in edits if after < step.time_ms <= until]
        near[path] = min(distances, default=UNKNOWN), not edits, -steps[-1].time_ms
    places, touches = SessionPlaces(agent, db, sessions), list[tuple[int, bool, FileTouch]]()
    project = os.path.dirname(file.repository.common_dir) if file.repository else ""
    for path in sorted(sessions, key=lambda path: near[path])[: params.limit]:
        steps = [step for step in sessions[path] if step.action != "read"] or sessions[path]
        first = min(steps, key=lambda step: line_distance(step, lines, line)) if line else steps[0]
        changes = [step for step in load_steps(db, path) if step.action not in (RAN, "read")]
        requests, facts = Requests(db, path), places.facts[path]
        actions, time_ms = dict.fromkeys(step.action for step in sessions[path]), steps[-1].time_ms
        said = requests.at(first.place)[2], requests.decisions(steps, changes)
        touch = FileTouch([*actions], *said, time_ms or facts.updated_ms, **places.of(first))
        touches.append((near[path][0], facts.project != project, touch))
    return touches


def paths_named(db: Database, end: str) -> list[str]:
    """Return the paths of files with a name, or whose path ends so, the last touched ones first."""
    rows = find_by_file(db, [os.path.basename(end)], MAX_ROWS)
    return list(dict.fromkeys(row.subject for row in rows if f"/{row.subject}".endswith(f"/{end}")))


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
        if name and is_done and row.time_ms <= (name.until_ms or row.time_ms):
            own.append(row)
    return own


def _lines_of(path: str) -> list[str]:
    """Return the lines of a file; empty if it can't be read or is too large."""
    try:
        is_text = os.path.isfile(path) and os.path.getsize(path) <= MAX_FILE_BYTES
        return Path(path).read_text("utf-8", "replace").split("\n") if is_text else []
    except OSError:
        return []
