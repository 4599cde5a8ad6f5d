"""How a command really runs on this machine: its invocations with their outcomes, ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import trio

from memd.agents.agent import Agent
from memd.agents.conversations import conversation_sources
from memd.agents.registry import AgentRegistry
from memd.index.transcripts import NO_FACTS
from memd.index.work import RAN, WorkRow, WorkScope, count_runs, find_commands, find_work, load_steps
from memd.lifecycle.work.evidence import SessionPlaces, read_work, weigh_matches, with_origins
from memd.lifecycle.work.fix import find_repair
from memd.sources.projects import find_project, is_in_project
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd.text.query.word_forms import has_words
from memd.text.work.commands import command_key, is_looking, normalize_command
from memd_client.errors import QueryEmptyError
from memd_client.messages import Hit, HowParams, HowReply, SearchParams
from memd_client.work import KnownCommand

MAX_RUNS, MAX_DESCRIBED = 2_000, 200
"""Newest runs of a named command, and runs that match a description, that are compared."""

MIN_RELEVANCE, MIN_RELEVANCE_ELSEWHERE, ENOUGH_RELEVANCE = 0.2, 0.6, 0.45
"""Relevance from which a command is an answer, in the project and in others, and from which runs of a named command
need no further evidence. It is the share of the weights of a description's words in a command line, with these
changes."""

SUBJECT_WEIGHT, LOOKING, WORD_COST = 0.4, 0.7, 0.015
"""Added if the program or subcommand is named (`build` in a path may be anything), the factor of a command that only
looks, and what is taken off for each word, because a shorter command has less that wasn't asked for."""

MAX_HITS, MAX_AFTER_HIT, HIT_WEIGHT, FADING = 8, 6, 0.5, 0.7
"""Conversations that match a description, the commands after their lines that are compared, the weight of the score
of a conversation for the first of them, and its factor for each further one."""

HALF_LIFE_MS: Final = 30 * 86_400_000
"""Age at which a session counts half."""

_WORD = re.compile(r"\w+")
_VERB = re.compile(r"^\W*(?:run|execute|start|do|use)\s+", re.IGNORECASE)
_STATUSES: Final = ("ok", "failed", "unknown")
_FAILED: Final = WorkScope(actions=(RAN,), statuses=("failed",))
_SCOPE: Final = WorkScope(actions=(RAN,), statuses=_STATUSES)


class CommandRun(NamedTuple):
    """A run of a command: its step, the places of its agent's sessions, and how well it matches, 0 to 1.

    `tier` is 0 for the invocation that is named, 1 for the program and subcommand, 2 for the program, 3 for words.
    """

    row: WorkRow
    places: SessionPlaces
    tier: int
    relevance: float = 0.0

    def is_in(self, project: str) -> bool:
        """Return whether its session was held in a project."""
        facts = self.places.facts.get(self.row.path, NO_FACTS)
        return bool(project) and is_in_project(facts.project, project)

    @property
    def time_ms(self) -> int:
        """When it ran, or when its session ended."""
        return self.row.time_ms or self.places.facts.get(self.row.path, NO_FACTS).updated_ms


async def find_invocations(registry: AgentRegistry, params: HowParams) -> HowReply:
    """Return the invocations of a command that succeeded here, best first."""
    if not params.command.strip():
        raise QueryEmptyError("the command is empty")
    project = await trio.to_thread.run_sync(find_project, params.project)
    runs, counts = dict[tuple[str, int], CommandRun](), dict[Agent, int]()
    for agent in registry.recalled(params.agent):
        named, counts[agent] = await read_work(
            agent, partial(_named_runs, agent=agent, command=params.command)
        )
        runs |= {(agent.agent_id, run.row.id): run for run in named}
    subjects = {run.row.subject for run in runs.values()}
    is_enough = any(run.relevance >= ENOUGH_RELEVANCE or not run.tier for run in runs.values())
    for agent, count in counts.items() if not is_enough else ():
        sources = [*conversation_sources(agent.config)] if count else []
        search = SearchParams(query=params.command, sources=sources, max_results=MAX_HITS)
        hits = (await agent.search(search)).hits if sources else []
        read = partial(_described_runs, agent=agent, query=params.command, hits=hits, total=count)
        for run in await agent.read_index(read):
            least = MIN_RELEVANCE if run.is_in(project) else MIN_RELEVANCE_ELSEWHERE
            if run.relevance >= least and (not subjects or run.row.subject in subjects):
                runs[agent.agent_id, run.row.id] = run._replace(tier=1 if subjects else 3)
    known, only_failed = rank_invocations([*runs.values()], project)
    if params.include_failed:
        known += only_failed
    known = await with_origins(counts, known[: params.limit])
    return HowReply(known, len(only_failed), sum(counts.values()))


def rank_invocations(
    runs: Sequence[CommandRun], project: str
) -> tuple[list[KnownCommand], list[KnownCommand]]:
    """Return invocations best first, and apart from them those whose every known run failed."""
    newest = max((run.time_ms for run in runs), default=0)
    invocations = dict[tuple[str, str], list[CommandRun]]()
    for run in runs:
        invocations.setdefault((run.row.line, run.row.folder), []).append(run)
    ranked = [_rank(group, project, newest) for group in invocations.values()]
    ranked.sort(key=lambda item: item[0])
    known = [command for _, command in ranked if command.status != "failed"]
    return known, [command for _, command in ranked if command.status == "failed"]


def _rank(runs: Sequence[CommandRun], project: str, newest: int) -> tuple[tuple[float, ...], KnownCommand]:
    """Return an invocation with its rank: lower is better."""
    counts = {status: sum(run.row.status == status for run in runs) for status in _STATUSES}
    status = next(name for name in _STATUSES if counts[name])
    last = max((run for run in runs if run.row.status == status), key=lambda run: (run.time_ms, run.row.id))
    weights = dict.fromkeys(_STATUSES, 0.0)
    for outcome in _STATUSES:
        sessions = {run.row.path: run.time_ms for run in runs if run.row.status == outcome}
        weights[outcome] = sum(0.5 ** ((newest - time_ms) / HALF_LIFE_MS) for time_ms in sessions.values())
    frecency = weights[status] ** 2 / (weights[status] + weights["failed"] / 2 or 1)
    distance = min(run.tier - round(run.relevance, 1) for run in runs)
    rank = (not last.is_in(project), distance, status != "ok", -frecency)
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


def _named_runs(db: Database, agent: Agent, command: str) -> tuple[list[CommandRun], int]:
    """Return runs of the named program, subcommand or invocation, and the number of all runs."""
    key, line = command_key(command), normalize_command(command)
    rows = find_commands(db, key, MAX_RUNS, _SCOPE) if key else []
    total = count_runs(db)
    if not rows:
        return [], total
    is_invocation = line != key
    named = key.split()
    details = " ".join(word for word in line.split() if word not in named)
    shares = weigh_matches(db, details, [row.id for row in rows], total, "text")
    places = SessionPlaces(agent, db, {row.path for row in rows})
    runs = list[CommandRun]()
    for row in rows:
        tier = 0 if is_invocation and row.line == line else 1 if row.subject == key else 2
        runs.append(CommandRun(row, places, tier, 0.9 * shares[row.id] if details else 0.9))
    named_rows = [row for row in rows if row.line == line]
    if all(row.status == "failed" for row in named_rows):
        for row in named_rows[:MAX_HITS]:
            repair = find_repair(load_steps(db, row.path, row.id, limit=MAX_DESCRIBED))
            if repair is not None:
                runs.append(CommandRun(repair.success, places, 0, 1.0))
    return runs, total


def _described_runs(
    db: Database, agent: Agent, query: str, hits: Sequence[Hit], total: int
) -> list[CommandRun]:
    """Return runs whose command line has words of a description, or that follow a conversation about it."""
    query = _VERB.sub("", query) or query
    plan = plan_match(query)
    rows = {row.id: row for row, _ in find_work(db, f"text : ({plan.any or 'x'})", MAX_DESCRIBED, _SCOPE)}
    relevance = weigh_matches(db, query, [*rows], total, "text")
    for key, row in rows.items():
        relevance[key] *= LOOKING if is_looking(row.text) else 1
        relevance[key] += SUBJECT_WEIGHT * has_words(row.subject, plan.words)
    about = [(hit.path, hit.start_line, hit.score) for hit in hits]
    errors = {row.id: row for row, _ in find_work(db, plan.any or "", MAX_HITS, _FAILED)}
    shares = weigh_matches(db, query, [*errors], total)
    about += [(row.path, row.place + 1, shares[key]) for key, row in errors.items()]
    led = dict[int, float]()
    for path, place, score in about:
        steps = load_steps(db, path, place=place, limit=MAX_DESCRIBED)
        after = [row for row in steps if row.action == RAN and row.status in _STATUSES]
        after = [row for row in after if not is_looking(row.text)]
        for number, row in enumerate(after[:MAX_AFTER_HIT]):
            rows[row.id] = row
            led[row.id] = max(led.get(row.id, 0.0), HIT_WEIGHT * score * FADING**number)
    places = SessionPlaces(agent, db, {row.path for row in rows.values()})
    weights = {
        key: relevance.get(key, 0.0) + led.get(key, 0.0) - WORD_COST * len(_WORD.findall(row.line))
        for key, row in rows.items()
    }
    return [CommandRun(row, places, 3, weights[key]) for key, row in rows.items()]
