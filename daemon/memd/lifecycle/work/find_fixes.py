"""Finds failures like an error, and what fixed them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import trio

from memd.agents.agent import Agent
from memd.agents.open_agent import OpenAgent
from memd.agents.registry import AgentRegistry
from memd.agents.work import find_similar_failures
from memd.index.transcripts import NO_FACTS
from memd.index.work import RAN, WorkRow, WorkScope, count_runs, find_by_error, find_work, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, catch_up, weigh_matches, with_origins
from memd.lifecycle.work.fix import Repair, find_repair, fix_steps, held, success_line, together
from memd.search.calibration import calibration_of
from memd.sources.projects import find_project, is_in_project
from memd.system.clock import wall_clock_ms
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd.text.work.errors import error_key, error_lines, is_error_message, normalize_error
from memd_client.errors import QueryEmptyError
from memd_client.work import Fix, FixParams, FixReply

MAX_FAILURES, MAX_MATCHES, MAX_ERROR_LINES, MAX_LATER_STEPS = 40, 200, 4, 200
"""Failures most like an error whose sessions are read, failures and lines of an output that are compared, and the
steps after a failure among which its success is looked for."""

EMBEDDING_TIMEOUT_S, CLOSENESS_WEIGHT, SURE_CLOSENESS = 2.0, 0.3, 0.95
"""The longest wait for vectors, the weight of the closeness of a failure in vector space, added to the share of its
words, and the closeness from which no word has to match, because an error may be described in another language."""

MIN_RELEVANCE, MIN_SHARED, OTHER_NAME = 0.55, 0.5, 0.6
"""Relevance from which a failure is the same error, the share of a message that must be in another one about the same,
and the factor of the same error about another name: `No module named 'x'` needs another fix than `y`."""

_MASK = re.compile(r"<\w+>\S*")
_PATH_END = re.compile(r"<path>/[^\s'\"`,;:)\]}]*")
_SCOPE: Final = WorkScope(actions=(RAN,), statuses=("failed",))


class RepairMatch(NamedTuple):
    """A repair of a failure like the error; `is_lasting` if the error didn't come back in the session."""

    repair: Repair
    places: SessionPlaces
    relevance: float
    is_lasting: bool


async def find_fixes(registry: AgentRegistry, params: FixParams) -> FixReply:
    """Return what fixed an error before, best first."""
    if not params.error.strip():
        raise QueryEmptyError("the error is empty")
    project = await trio.to_thread.run_sync(find_project, params.project)
    repairs, searched, unfixed = list[RepairMatch](), 0, 0
    for agent in registry.recalled(params.agent):
        found, failures, others = await agent.perform(partial(_search, agent=agent, error=params.error))
        repairs += found
        searched += failures
        unfixed += others
    by_success = {id(found.repair): found for found in repairs}
    offered = [found.repair for found in repairs if not found.repair.is_rerun]
    fixes = list[tuple[float, Fix]]()
    for group in together(offered):
        best = max((by_success[id(repair)] for repair in group), key=_preference)
        facts = best.places.facts.get(best.repair.failure.path, NO_FACTS)
        sessions = len({repair.failure.path for repair in group})
        is_here = bool(project) and is_in_project(facts.project, project)
        score = best.relevance + 0.2 * best.is_lasting + 0.1 * is_here + 0.05 * min(sessions, 4)
        fixes.append((score, _fix(best, sessions)))
    fixes.sort(key=lambda fix: (-fix[0], -fix[1].time_ms))
    reruns = sum(found.repair.is_rerun for found in repairs)
    agents = registry.recalled(params.agent)
    best_fixes = await with_origins(agents, [fix for _, fix in fixes[: params.limit]])
    return FixReply(best_fixes, reruns, unfixed, searched)


def _preference(found: RepairMatch) -> tuple[bool, float, int, int]:
    return found.is_lasting, found.relevance, -len(found.repair.steps), found.repair.success.time_ms


def _fix(found: RepairMatch, sessions: int) -> Fix:
    repair = found.repair
    return Fix(
        error=next(iter(error_lines(repair.failure.detail, is_failed=True)), ""),
        command=repair.failure.text,
        folder=repair.failure.folder,
        fixed_by=success_line(repair),
        is_same_command=repair.is_same,
        steps=fix_steps(repair),
        sessions=sessions,
        has_held=found.is_lasting,
        time_ms=repair.success.time_ms,
        **found.places.of(repair.failure, repair.success.place),
    )


def _with_names(line: str) -> str:
    """Return an error with the names in quotes, which matter to its fix, but without paths, which seldom do."""
    return _PATH_END.sub("<path>", normalize_error(line, exact=True)).casefold()


def _resembles(error: str, other: str) -> bool:
    """Return whether most of the shorter one of two messages is in the longer one, in order."""
    one, two = _with_names(error), _with_names(other)
    blocks = SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 3) >= MIN_SHARED * min(len(one), len(two))


async def _search(opened: OpenAgent, agent: Agent, error: str) -> tuple[list[RepairMatch], int, int]:
    """Return repairs of failures like an error, the number of all failures, and that of alike ones without a repair."""
    await catch_up(opened)
    total = await opened.index_file.read(partial(count_runs, status="failed"))
    if not total:
        return [], 0, 0
    alike = await opened.index_file.read(partial(_alike, error=error, total=total))
    target = opened.vector_search.target
    calibration = calibration_of(target.space.model) if target is not None else None
    if calibration is not None and not any(relevance >= 1 for _, relevance in alike):
        text = "\n".join(error_lines(error)[:MAX_ERROR_LINES]) or error
        near = await find_similar_failures(opened, text, wall_clock_ms, EMBEDDING_TIMEOUT_S, _SCOPE)
        closeness = {row.error: calibration.closeness(cosine) for row, cosine in near[:MAX_FAILURES]}
        alike = await opened.index_file.read(partial(_alike, error=error, total=total, closeness=closeness))
    found, unfixed = await opened.index_file.read(partial(_repairs, agent=agent, alike=alike))
    return found, total, unfixed


def _repairs(
    db: Database, agent: Agent, alike: Sequence[tuple[WorkRow, float]]
) -> tuple[list[RepairMatch], int]:
    """Return repairs of failures, each with the failure's relevance, and the number of failures without one."""
    places = SessionPlaces(agent, db, {row.path for row, _ in alike})
    repairs, unfixed = dict[int, RepairMatch](), 0
    for row, relevance in alike:
        repair = find_repair(load_steps(db, row.path, row.id, limit=MAX_LATER_STEPS))
        if repair is None:
            unfixed += 1
            continue
        later = find_by_error(db, repair.failure.error, MAX_MATCHES, _SCOPE)
        repairs.setdefault(repair.success.id, RepairMatch(repair, places, relevance, held(repair, later)))
    return [*repairs.values()], unfixed


def _alike(
    db: Database, error: str, total: int, closeness: Mapping[str, float] = MappingProxyType({})
) -> list[tuple[WorkRow, float]]:
    """Return failures with the same error, each with its relevance: above 1 if the error is equal, names included.

    Args:
        db: The index.
        error: The error.
        total: Number of all failures.
        closeness: The closeness of errors to this one in vector space, by their keys.
    """
    lines = error_lines(error)[:MAX_ERROR_LINES]
    keys = {error_key(text) for text in (error, *lines)} - {""}
    names = {_with_names(line) for line in lines}
    messages = [line for line in lines if is_error_message(line)]
    query = "\n".join(_MASK.sub(" ", normalize_error(line, exact=True)) for line in lines) or error
    matches = [row for row, _ in find_work(db, plan_match(query).any or "", MAX_MATCHES, _SCOPE)]
    for key in {*keys, *closeness}:
        matches += find_by_error(db, key, MAX_MATCHES, _SCOPE)
    rows = {row.id: row for row in matches}
    shares = weigh_matches(db, query, [*rows], total)
    alike = list[tuple[WorkRow, float]]()
    for number, row in rows.items():
        near = closeness.get(row.error, 0.0)
        relevance = max(
            shares[number] + CLOSENESS_WEIGHT * near, MIN_RELEVANCE if near >= SURE_CLOSENESS else 0
        )
        if row.error in keys or relevance >= MIN_RELEVANCE / 2:
            others = error_lines(row.detail, is_failed=True)
            if any(_with_names(line) in names for line in others):
                relevance = 1 + relevance / 2
            elif row.error in keys:
                relevance *= OTHER_NAME
            elif relevance >= MIN_RELEVANCE and messages:
                relevance *= any(_resembles(one, two) for one in messages for two in others)
        if relevance >= MIN_RELEVANCE:
            alike.append((row, relevance))
    return sorted(alike, key=lambda item: (-item[1], -item[0].id))[:MAX_FAILURES]
