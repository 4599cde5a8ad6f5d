"""Which files the work on a subject touched: near what was said about it, and by paths, edits and commands."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from memd.agents.agent import Agent
from memd.agents.conversations import conversation_sources, excerpt_of
from memd.agents.registry import AgentRegistry
from memd.index.work import RAN, WorkRow, WorkScope, find_by_file, find_work, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, read_work
from memd.lifecycle.work.requests import Requests
from memd.sources.projects import find_project
from memd.system.clock import wall_clock_ms
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd_client.errors import QueryEmptyError
from memd_client.messages import Hit, SearchParams, TouchedFile, WorkFilesParams, WorkFilesReply

MAX_HITS, MAX_MATCHES, MAX_ROWS = 40, 200, 20_000
COMMAND, READ = 0.5, 0.25
"""Weights of the steps near a matching command, and of a file that was only read."""

HALF_LIFE_MS: Final = 180 * 86_400_000


async def find_files(registry: AgentRegistry, params: WorkFilesParams) -> WorkFilesReply:
    """Return the files that the work on a subject touched: changed ones first, then those that were only read."""
    if not params.topic.strip():
        raise QueryEmptyError("the topic is empty")
    project = await trio.to_thread.run_sync(find_project, params.project) or None
    files = list[tuple[float, TouchedFile]]()
    for agent in registry.recalled(params.agent):
        sources, hits = list(conversation_sources(agent.config)), list[Hit]()
        if sources:
            search = SearchParams(params.topic, max_results=MAX_HITS, sources=sources, project=project)
            hits = (await agent.search(search)).hits
        files += await read_work(
            agent, partial(_find, agent=agent, topic=params.topic, hits=hits, project=project)
        )
    files.sort(key=lambda item: (not item[1].edits, -item[0]))
    return WorkFilesReply([file for _, file in files[: params.limit]])


def _find(
    db: Database, agent: Agent, topic: str, hits: Sequence[Hit], project: str | None
) -> list[tuple[float, TouchedFile]]:
    """Return the files of an agent's sessions with their scores (blocking)."""
    plan, scope = plan_match(topic), WorkScope(project=project)
    matches = find_work(db, plan.strict or "", MAX_MATCHES, scope)
    matches = matches or (find_work(db, plan.any or "", MAX_HITS, scope) if not hits else [])
    hits = [hit for hit in hits if hit.relevance == "strong"] or hits
    weights = {row.id: (1.0, row) for row, _ in matches}
    commands = [row for row, _ in matches if row.action == RAN]
    for path in {*(hit.path for hit in hits), *(row.path for row in commands)}:
        requests, steps = Requests(db, path), load_steps(db, path)
        near = [(COMMAND, row.place) for row in commands if row.path == path]
        near += [(1.0, excerpt_of(hit, plan.words, requests.places).line) for hit in hits if hit.path == path]
        for weight, place in near:
            first, end, _ = requests.at(place)
            for row in steps:
                if first <= row.place < end:
                    weights[row.id] = max(weight, weights.get(row.id, (0.0, row))[0]), row
    files = defaultdict[str, list[tuple[float, WorkRow]]](list)
    for weight, row in weights.values():
        if row.action != RAN and row.status not in ("failed", "refused"):
            files[row.subject].append((weight, row))
    sessions_of = defaultdict[str, set[str]](set)
    for row in find_by_file(db, {os.path.basename(path) for path in files}, MAX_ROWS):
        sessions_of[row.subject].add(row.path)
    places = SessionPlaces(agent, db, {row.path for _, row in weights.values()})
    return [_scored(path, rows, places, len(sessions_of[path])) for path, rows in files.items()]


def _scored(
    path: str, rows: list[tuple[float, WorkRow]], places: SessionPlaces, sessions: int
) -> tuple[float, TouchedFile]:
    """Return a file with its score: more for more sessions and edits, less if sessions on other subjects touched it."""
    work = defaultdict[str, float](float)
    for weight, row in rows:
        work[row.path] += weight * (READ if row.action == "read" else 1.0)
    *_, (_, last) = sorted(rows, key=lambda item: (item[1].action != "read", item[1].time_ms, item[1].id))
    last_ms = max(row.time_ms for _, row in rows) or places.facts[last.path].updated_ms
    recency = 1.0 + 0.5 ** (max(0, wall_clock_ms() - last_ms) / HALF_LIFE_MS)
    score = (
        sum(min(weight, 1 + weight / 10) for weight in work.values()) * recency * len(work) / max(1, sessions)
    )
    edits = sum(row.action != "read" for _, row in rows)
    exists = os.path.lexists(path.replace("\0", ""))
    file = TouchedFile(path, edits, len(rows) - edits, len(work), last_ms, exists, **places.of(last))
    return score, file
