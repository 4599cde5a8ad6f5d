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
        agent: The agent that has the source.
        keeps: Whether conversations that the program deletes are retained.
        readers: The titles of what it gives memory to, each with its agent.
        changes: The changes of files, except of `memd.toml`.
    """

    kind: Kind
    name: str
    state: State
    reason: str = ""
    is_fault: bool = False
    agent: str = ""
    keeps: bool = False
    readers: Sequence[tuple[str, str]] = ()
    changes: Sequence[SettingsChange] = ()

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


class SetupPlan(Struct):
    """All programs, and by agent the sources that it has afterwards and the titles of those who can search them."""

    programs: list[ProgramPlan]
    agents: dict[str, tuple[list[str], list[str]]]

    def steps(self, *kinds: Kind) -> Iterator[Step]:
        """Yield the steps of some kinds, or all."""
        steps = (step for program in self.programs for step in program.steps)
        return (step for step in steps if step.kind in (kinds or KINDS))


def program_of(name: str) -> str:
    """Return the program that users know a table of the catalog as."""
    return PROGRAMS[name].part_of or name


def source_title(source: str) -> str:
    """Return the title of the program of a source."""
    return PROGRAMS[program_of(KNOWN_SOURCES[source].program.name)].title


def make_plan(
    connections: Iterable[Step],
    sources: Collection[SourceStatus],
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
    known = [source for source in sources if source.name in KNOWN_SOURCES]
    for step in [*(_source_step(source, agent, only) for source in known), *connections]:
        name = program_of(KNOWN_SOURCES[step.name].program.name if step.kind == "sources" else step.name)
        is_chosen = (not only or name in only) and step.kind in kinds
        if is_chosen:
            plans.setdefault(name, ProgramPlan(name, PROGRAMS[name].title, [])).steps.append(step)
        if step.state == "present" or (is_chosen and step.is_done):
            readers += step.readers
            if step.agent:
                owned.setdefault(step.agent, []).append(step.name)
    for source in known:
        plan = plans.get(program_of(KNOWN_SOURCES[source.name].program.name))
        if plan is not None:
            _count(plan, source)
    agents = {}
    for owner, names in owned.items():
        titles = [
            title for title, of in readers if of == ALL or owner == (of or default_agent) or reads(of, owner)
        ]
        agents[owner] = (names, list(dict.fromkeys(titles)))
    order = list(PROGRAMS)
    return SetupPlan(sorted(plans.values(), key=lambda plan: order.index(plan.name)), agents)


def _source_step(source: SourceStatus, agent: str, only: Collection[str]) -> Step:
    """Return what to do with a source."""
    problem = "; ".join(problem.message for problem in source.problems)
    name, program = source.name, program_of(KNOWN_SOURCES[source.name].program.name)
    if source.agent:
        return Step("sources", name, "present", problem, bool(problem), source.agent)
    if not source.files:
        reason = problem or "nothing in it is indexed"
        return Step("sources", name, "left", reason, bool(problem))
    parts = [part for part in PROGRAMS.values() if program_of(part.name) == program]
    if program not in only and not any(part.conversations or part.hooks or part.mcp for part in parts):
        hint = f"personal notes; to add them: memctl sources add {name} --agent {agent}"
        return Step("sources", name, "left", hint)
    return Step("sources", name, "add", problem, bool(problem), agent, source.kind == "transcripts")


def _count(plan: ProgramPlan, source: SourceStatus) -> None:
    """Add what was found of a source to its program."""
    if source.kind == "transcripts":
        plan.conversations += source.files
    else:
        plan.notes += source.files
    plan.bytes += source.bytes
    plan.oldest_ms = min((ms for ms in (plan.oldest_ms, source.oldest_ms) if ms is not None), default=None)
    plan.newest_ms = max((ms for ms in (plan.newest_ms, source.newest_ms) if ms is not None), default=None)
