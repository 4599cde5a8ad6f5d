"""What `memctl setup` will do on this machine, as data: from what was found and what the user chose. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from memd.cli.readers import ALL, reads
from memd.programs.catalog import KNOWN_SOURCES, PROGRAMS
from memd.system.settings_change import SettingsChange
from memd_client.messages import SourceStatus

Kind: TypeAlias = Literal["sources", "hooks", "mcp", "skill"]
State: TypeAlias = Literal["add", "repair", "present", "left"]

KINDS: Final[tuple[Kind, ...]] = ("sources", "hooks", "mcp", "skill")


class Step(Struct, frozen=True):
    """One thing that setup does to a program, or leaves as it is.

    Attributes:
        kind: What it is about.
        name: The source, or the program in the catalog.
        state: `add`, `repair` (of another release, or incomplete), `present` or `left`.
        reason: Why it is left alone.
        is_fault: Whether the reason is a fault that the user can correct.
        changes: The changes of files, except of `memd.toml`.
        readers: The titles and agents of what it gives memory to.
        agent: The agent that has the source.
        keeps: Whether conversations that the program deletes are retained.
    """

    kind: Kind
    name: str
    state: State
    reason: str = ""
    is_fault: bool = False
    changes: Sequence[SettingsChange] = ()
    readers: Sequence[tuple[str, str]] = ()
    agent: str = ""
    keeps: bool = False

    @property
    def is_done(self) -> bool:
        """Whether setup does anything."""
        return self.state in ("add", "repair")


class ProgramPlan(Struct):
    """A program as users know it, what was found of it, and the steps."""

    name: str
    title: str
    steps: list[Step]
    conversations: int = 0
    notes: int = 0
    bytes: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def states(self, kind: Kind) -> list[State]:
        """Return the states of the steps of a kind, each once."""
        return list(dict.fromkeys(step.state for step in self.steps if step.kind == kind))


class SetupPlan(Struct):
    """All programs, and by agent the sources that it has afterwards and the titles of those who can search them."""

    programs: list[ProgramPlan]
    readers: dict[str, tuple[list[str], list[str]]]

    def steps(self, kind: Kind | None = None) -> Iterator[Step]:
        """Yield the steps that do something, of one kind or all."""
        return (
            step
            for program in self.programs
            for step in program.steps
            if step.is_done and kind in (None, step.kind)
        )


def program_of(name: str) -> str:
    """Return the program that users know a table of the catalog as."""
    return PROGRAMS[name].part_of or name


def make_plan(
    connections: Iterable[Step],
    sources: Iterable[SourceStatus],
    agent: str,
    default_agent: str,
    only: Collection[str] = (),
    kinds: Collection[str] = KINDS,
) -> SetupPlan:
    """Return the plan.

    Args:
        connections: The state of hooks, MCP entries and skill files.
        sources: The sources of agents, and those found on this machine.
        agent: The agent that gets sources.
        default_agent: The agent of programs that name none.
        only: The chosen programs; empty: all.
        kinds: What is set up.
    """
    plans: dict[str, ProgramPlan] = {}
    readers: list[tuple[str, str]] = []
    owned: dict[str, list[str]] = {}
    for step in [*(source_step(source, agent, only) for source in sources), *connections]:
        known = KNOWN_SOURCES.get(step.name) if step.kind == "sources" else None
        name = (
            program_of(known.program.name if known else step.name) if known or step.kind != "sources" else ""
        )
        is_chosen = bool(name) and (not only or name in only) and step.kind in kinds
        if step.state == "present" or (is_chosen and step.is_done):
            readers += step.readers
            if step.agent:
                owned.setdefault(step.agent, []).append(step.name)
        if is_chosen:
            plans.setdefault(name, ProgramPlan(name, PROGRAMS[name].title, [])).steps.append(step)
    for source in sources:
        if source.name in KNOWN_SOURCES:
            _count(plans.get(program_of(KNOWN_SOURCES[source.name].program.name)), source)
    who = {owner: _titles(owner, default_agent, readers) for owner in owned}
    order = list(PROGRAMS)
    programs = sorted(plans.values(), key=lambda plan: order.index(plan.name))
    return SetupPlan(programs, {owner: (names, who[owner]) for owner, names in owned.items()})


def source_step(source: SourceStatus, agent: str, only: Collection[str]) -> Step:
    """Return what to do with a source."""
    known = KNOWN_SOURCES.get(source.name)
    problem = "; ".join(each.message for each in source.problems)
    if source.agent:
        return Step("sources", source.name, "present", problem, bool(problem), agent=source.agent)
    if known is not None and not source.files:
        reason = problem or "it has no conversation or note that memd indexes"
        return Step("sources", source.name, "left", reason, bool(problem))
    if known is not None and not _is_agent_program(known.program.name) and known.program.name not in only:
        hint = f"these are personal notes; to add them: memctl sources add {source.name} --agent {agent}"
        return Step("sources", source.name, "left", hint)
    keeps = source.kind == "transcripts"
    return Step("sources", source.name, "add", problem, bool(problem), agent=agent, keeps=keeps)


def _is_agent_program(name: str) -> bool:
    """Return whether a program is one of agents; others have personal notes."""
    parts = [part for part in PROGRAMS.values() if program_of(part.name) == program_of(name)]
    return any(part.conversations or part.hooks or part.mcp for part in parts)


def _titles(owner: str, default_agent: str, readers: Iterable[tuple[str, str]]) -> list[str]:
    """Return who can search an agent's memory."""
    titles = [
        title
        for title, agent in readers
        if agent == ALL or owner == (agent or default_agent) or reads(agent, owner)
    ]
    return list(dict.fromkeys(titles))


def _count(plan: ProgramPlan | None, source: SourceStatus) -> None:
    """Add what was found of a source to its program."""
    if plan is None:
        return
    if source.kind == "transcripts":
        plan.conversations += source.files
    else:
        plan.notes += source.files
    plan.bytes += source.bytes
    times = [time for time in (plan.oldest_ms, source.oldest_ms) if time is not None]
    plan.oldest_ms = min(times, default=None)
    times = [time for time in (plan.newest_ms, source.newest_ms) if time is not None]
    plan.newest_ms = max(times, default=None)
