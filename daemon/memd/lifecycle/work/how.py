"""How a command really runs on this machine: its invocations with their outcomes, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import trio

from memd.agents.agent import Agent
from memd.agents.conversations import conversation_sources
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import NO_FACTS
from memd.index.work import RAN, WorkRow, WorkScope, count_runs, find_commands, find_work, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, read_work, weigh_matches
from memd.sources.projects import find_project, is_in_project
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd.text.work.commands import command_key, is_looking, normalize_command
from memd_client.errors import QueryEmptyError
from memd_client.messages import Hit, HowParams, HowReply, KnownCommand, SearchParams

MAX_RUNS: Final = 2_000
"""Newest runs of a command that are compared."""

MAX_DESCRIBED: Final = 200
"""Runs whose words are compared with a description."""

MIN_RELEVANCE: Final = 0.4
"""Share of the weights of a description's words from which a command is an answer."""

MAX_HITS: Final = 8
MAX_AFTER_HIT: Final = 6
"""Conversations that match a description, and the commands after their lines that are compared."""

FADING: Final = 0.8
"""Factor of the relevance of each further command after a hit."""

HALF_LIFE_MS: Final = 30 * 86_400_000
"""Age at which a session counts half."""

_STATUSES: Final = ("ok", "failed", "unknown")
_SCOPE: Final = WorkScope(actions=(RAN,), statuses=_STATUSES)


class Run(NamedTuple):
    """A run of a command: its step, the places of its agent's sessions, and how well it matches, 0 to 1.

    `tier` is 0 for the invocation that is named, 1 for the program and subcommand, 2 for the program, 3 for words.
    """

    row: WorkRow
    places: SessionPlaces
    tier: int
    relevance: float = 1.0

    @property
    def time_ms(self) -> int:
        """When it ran, or when its session ended."""
        return self.row.time_ms or self.places.facts.get(self.row.path, NO_FACTS).updated_ms


async def find_invocations(registry: AgentRegistry, params: HowParams) -> HowReply:
    """Return the invocations of a command that succeeded here, best first."""
    if not params.command.strip():
        raise QueryEmptyError("the command is empty")
    project = await trio.to_thread.run_sync(find_project, params.project)
    runs, counts = list[Run](), dict[Agent, int]()
    for agent in registry.recalled(params.agent):
        named, counts[agent] = await read_work(
            agent, partial(_named_runs, agent=agent, command=params.command)
        )
        runs += named
    for agent, count in counts.items() if not runs else ():
        sources = [*conversation_sources(agent.config)] if count else []
        search = SearchParams(query=params.command, sources=sources, max_results=MAX_HITS)
        hits = (await agent.search(search)).hits if sources else []
        read = partial(_described_runs, agent=agent, query=params.command, hits=hits, total=count)
        runs += await agent.read_index(read)
    known, only_failed = rank_invocations(runs, project)
    if params.include_failed:
        known += only_failed
    return HowReply(known[: params.limit], len(only_failed), sum(counts.values()))


def rank_invocations(runs: Sequence[Run], project: str) -> tuple[list[KnownCommand], list[KnownCommand]]:
    """Return invocations best first, and apart from them those whose every known run failed."""
    newest = max((run.time_ms for run in runs), default=0)
    invocations = dict[tuple[str, str], list[Run]]()
    for run in runs:
        invocations.setdefault((run.row.line, run.row.folder), []).append(run)
    ranked = [_rank(group, project, newest) for group in invocations.values()]
    ranked.sort(key=lambda item: item[0])
    known = [command for _, command in ranked if command.status != "failed"]
    return known, [command for _, command in ranked if command.status == "failed"]


def _rank(runs: Sequence[Run], project: str, newest: int) -> tuple[tuple[float, ...], KnownCommand]:
    """Return an invocation with its rank: lower is better."""
    counts = {status: sum(run.row.status == status for run in runs) for status in _STATUSES}
    status = next(name for name in _STATUSES if counts[name])
    last = max((run for run in runs if run.row.status == status), key=lambda run: (run.time_ms, run.row.id))
    facts = last.places.facts.get(last.row.path, NO_FACTS)
    weights = dict.fromkeys(_STATUSES, 0.0)
    for outcome in _STATUSES:
        sessions = {run.row.path: run.time_ms for run in runs if run.row.status == outcome}
        weights[outcome] = sum(0.5 ** ((newest - time_ms) / HALF_LIFE_MS) for time_ms in sessions.values())
    frecency = weights[status] ** 2 / (weights[status] + weights["failed"] / 2 or 1)
    relevance = max(run.relevance for run in runs)
    is_elsewhere = not (project and is_in_project(facts.project, project))
    rank = (min(run.tier for run in runs), is_elsewhere, status != "ok", -relevance * frecency)
    return rank, KnownCommand(
        line=last.row.text,
        folder=last.row.folder,
        status=status,
        succeeded=counts["ok"],
        failed=counts["failed"],
        unknown=counts["unknown"],
        sessions=len({run.row.path for run in runs}),
        last_ms=last.time_ms,
        **last.places.of(last.row),
    )


def _named_runs(db: Database, agent: Agent, command: str) -> tuple[list[Run], int]:
    """Return runs of the named program, subcommand or invocation, and the number of all runs."""
    key, line = command_key(command), normalize_command(command)
    rows = find_commands(db, key, MAX_RUNS, _SCOPE) if key else []
    total = count_runs(db)
    if not rows:
        return [], total
    is_invocation = line != key
    shares = weigh_matches(db, command, [row.id for row in rows], total, "text") if is_invocation else {}
    places = SessionPlaces(agent, db, {row.path for row in rows})
    runs = list[Run]()
    for row in rows:
        tier = 0 if is_invocation and row.line == line else 1 if row.subject == key else 2
        runs.append(Run(row, places, tier, 1 + shares.get(row.id, 0.0)))
    return runs, total


def _described_runs(db: Database, agent: Agent, query: str, hits: Sequence[Hit], total: int) -> list[Run]:
    """Return runs whose command line has words of a description, or that follow a conversation about it."""
    matching = find_work(db, f"text : ({plan_match(query).any or 'x'})", MAX_DESCRIBED, _SCOPE)
    rows = {row.id: row for row, _ in matching if not is_looking(row.text)}
    relevance = weigh_matches(db, query, [*rows], total, "text")
    for hit in hits:
        steps = load_steps(db, hit.path, place=hit.start_line, limit=MAX_DESCRIBED)
        after = [row for row in steps if row.action == RAN and row.status in _STATUSES]
        after = [row for row in after if not is_looking(row.text)]
        for number, row in enumerate(after[:MAX_AFTER_HIT]):
            rows[row.id] = row
            relevance[row.id] = relevance.get(row.id, 0.0) + hit.score / 2 * FADING**number
    places = SessionPlaces(agent, db, {row.path for row in rows.values()})
    return [
        Run(row, places, 3, relevance[key]) for key, row in rows.items() if relevance[key] >= MIN_RELEVANCE
    ]
