"""How well steps of agents match a query, and where an answer about them is from."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import trio
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.agents.conversations import conversation_sources
from memd.agents.open_agent import OpenAgent
from memd.index.keyword import count_matches
from memd.index.outside_words import find_outside_lines
from memd.index.transcripts import NO_FACTS, load_line_maps, load_session_facts
from memd.index.work import WorkRow
from memd.search.sessions import session_info
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd_client.escaping import OUTSIDE
from memd_client.locations import citation
from memd_client.work import Fix, KnownCommand

T = TypeVar("T")
Work = TypeVar("Work", KnownCommand, Fix)

SYNC_WAIT_S: Final = 2.0
"""How long an answer waits for the sync of changes."""

MIN_TOTAL: Final = 50
"""Steps from which rarity is told: among fewer no term is rare."""

ABSENT_WEIGHT: Final = 0.5
"""Factor of the weight of a term that no step has: a description has words of its own."""


class SessionPlaces:
    """Names the places of steps of one agent's sessions.

    Args:
        agent: The agent.
        db: Its index.
        paths: The sessions.
    """

    def __init__(self, agent: Agent, db: Database, paths: Collection[str]) -> None:
        self._agent = agent
        self._programs = conversation_sources(agent.config)
        self.facts = load_session_facts(db, paths)
        self._line_maps = load_line_maps(db, paths)

    def of(self, row: WorkRow, last: int = 0) -> dict[str, Any]:
        """Return the fields of a record that name the place of a step (to another place `last`), and its session.

        The citation begins at the last message before the step, because only messages can be read.
        """
        facts, line_map = self.facts.get(row.path, NO_FACTS), self._line_maps.get(row.path, ())
        at = bisect_right(line_map, row.place)
        program = self._programs.get(facts.program, "")
        return {
            "citation": citation(row.path, line_map[at - 1] if at else row.place, max(row.place, last)),
            "agent": self._agent.agent_id,
            "path": row.path,
            "start_line": row.place,
            "session": session_info(facts, program, row.time_ms) if facts.program else None,
        }


async def read_work(agent: Agent, read: Callable[[Database], T]) -> T:
    """Return what a function reads in an agent's index; changes are indexed before, if that is done in time."""

    async def request(opened: OpenAgent) -> T:
        await catch_up(opened)
        return await opened.index_file.read(read)

    return await agent.perform(request)


async def with_origins(agents: Iterable[Agent], items: Sequence[Work]) -> list[Work]:
    """Return commands or fixes; those that repeat words of other people that their session read are outside."""
    for agent in agents:
        items = await agent.read_index(partial(_judged, agent=agent.agent_id, items=items))
    return list(items)


def _judged(db: Database, agent: str, items: Sequence[Work]) -> list[Work]:
    judged = list[Work]()
    for item in items:
        text = msgspec.json.format(msgspec.json.encode(item), indent=1).decode().replace("\\n", "\n")
        lines, why = find_outside_lines(db, item.path if item.agent == agent else "", text)
        judged.append(replace(item, origin=OUTSIDE, origin_reason=why) if lines else item)
    return judged


async def catch_up(opened: OpenAgent) -> None:
    """Index changes, for a bounded time."""
    with trio.move_on_after(SYNC_WAIT_S):
        await opened.text.sync()


def weigh_matches(
    db: Database, query: str, ids: Collection[int], total: int, column: str = ""
) -> dict[int, float]:
    """Return the share of a query's term weights that each of some steps covers, 0 to 1.

    Args:
        db: The index.
        query: The query.
        ids: The steps.
        total: Number of all steps, from which the rarity of a term follows.
        column: Only matches in this column of `work_fts`.
    """
    covered, whole = dict.fromkeys(ids, 0.0), 0.0
    for term in plan_match(query).terms:
        if " " in term.word.strip():
            continue  # a phrase repeats its words
        match = f"{column} : ({term.match})" if column else term.match
        count, matching = count_matches(db, match, [*ids], "work_fts")
        others = max(total, count, MIN_TOTAL) - count
        weight = math.log(1 + (others + 0.5) / (count + 0.5))
        whole += weight if count else ABSENT_WEIGHT * weight
        for key in matching:
            covered[key] += weight
    return {key: share / whole for key, share in covered.items()} if whole else covered
