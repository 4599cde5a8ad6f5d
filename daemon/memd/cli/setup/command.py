"""`memctl setup`: connect the agents' programs on this machine to memory, and take it back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from memd.cli.arguments import HintedError, agent_option, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import BLANK, count, stamp
from memd.cli.progress import for_agent
from memd.cli.setup import screen
from memd.cli.setup.discover import find_connections
from memd.cli.setup.ledger import Ledger, TakenBack, load_ledger
from memd.cli.setup.plan import KINDS, SetupPlan, make_plan, program_of
from memd.cli.setup.prove import Answer, Proof, find_answers, prove
from memd.cli.source_settings import plan_sources, wait_for
from memd.cli.sources import remaining_copies
from memd.programs.catalog import KNOWN_SOURCES, PROGRAMS
from memd.system.nearest_name import did_you_mean
from memd.system.settings_change import SettingsChange
from memd_client.discovery import home_directory
from memd_client.errors import MemdError
from memd_client.state_folder import find_openclaw

if TYPE_CHECKING:
    from memd_client import Client

SHARED = "shared"
"""The agent that gets all sources, and that every program can search."""


class Done(Struct):
    """What setup did: changed files with their backups, files taken back, faults, proofs and answers."""

    changed: list[tuple[str, str]] = field(default_factory=list)
    taken_back: list[TakenBack] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @contextlib.contextmanager
    def reported(self, about: str) -> Iterator[None]:
        """Record a fault instead of raising it: one in a program doesn't stop the others."""
        try:
            yield
        except (MemdError, OSError) as error:
            self.faults.append(f"{about}: {error}")


def _programs(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str]:
    """Return the programs of `--only`."""
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in PROGRAMS:
            raise click.BadParameter(f"{name!r} is not a program{did_you_mean(name, PROGRAMS)}")
    return frozenset(map(program_of, names))


@click.command(
    "setup",
    short_help="Connect the programs of agents on this machine to memory.",
    epilog=examples(
        "memctl setup",
        "memctl setup --dry-run",
        "memctl setup --yes --only claude-code,codex",
        "memctl setup --remove",
    ),
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show the plan and the changes of files, and change nothing.")
@click.option(
    "--only", callback=_programs, metavar="PROGRAMS", help="Only these programs, separated by commas."
)
@click.option("--no-sources", is_flag=True, help="Don't search conversations and notes.")
@click.option("--no-hooks", is_flag=True, help="Don't install hooks.")
@click.option("--no-mcp", is_flag=True, help="Don't add the MCP server.")
@click.option("--no-skill", is_flag=True, help="Don't write skill files.")
@agent_option
@click.option("--remove", is_flag=True, help="Take back everything that setup did.")
@json_option
@click.pass_obj
@click.pass_context
def command(
    ctx: click.Context,
    session: CliSession,
    /,
    yes: bool,
    dry_run: bool,
    only: frozenset[str],
    agent: str | None,
    remove: bool,
    as_json: bool,
    **without: bool,
) -> None:
    """Connect the programs of agents on this machine to memory.

    Finds the programs, shows what it will do and who will be able to search what, and asks once. Then it adds their
    conversations and notes as sources of the agent `shared`, installs hooks, the MCP server and a skill file, indexes,
    and tries what it installed. Each file that it changes has a backup. Run it again to add new programs and to repair
    what an update of a program removed. Without a terminal and without --yes it changes nothing.

    --agent names another agent for sources, hooks and MCP servers. Exits with 1 if something could not be done.
    """
    if remove and (only or agent):
        raise click.UsageError("--remove takes back everything; omit --only and --agent")
    ledger, done, document = load_ledger(), Done(), {}
    confirm = _Confirm(session, yes=yes, dry_run=dry_run, as_json=as_json)
    with session.client() as client:
        if remove:
            _remove(session, client, ledger, done, confirm)
        else:
            kinds = [kind for kind in KINDS if not without[f"no_{kind}"]]
            plan = _find_plan(client, ledger, agent, only, kinds)
            document = _as_document(plan)
            changes = _changes_of(plan)
            if not as_json:
                _print_plan(session, plan, changes, dry_run=dry_run)
            if confirm("Do this?", is_needed=bool(changes)):
                _carry_out(client, plan, ledger, done, agent, stamp(session.now_ms()))
                _index_and_prove(session, client, plan, done, quiet=as_json)
                if not as_json:
                    session.output.lines(screen.done_lines(done.changed, done.proofs, done.answers))
                    session.output.lines([BLANK, *screen.next_lines(plan)])
                    openclaw = screen.OPENCLAW if find_openclaw(home_directory()) else ""
                    session.output.text(screen.FROM_NOW + openclaw)
    if as_json:
        session.output.document({**document, **to_builtins(done)})
    for fault in done.faults:
        session.output.note(f"not done: {fault}")
    if done.faults:
        ctx.exit(1)


class _Confirm(Struct, frozen=True):
    """Asks once whether to change files."""

    session: CliSession
    yes: bool
    dry_run: bool
    as_json: bool

    def __call__(self, question: str, *, is_needed: bool) -> bool:
        """Return the user's answer; without a terminal it is the option `--yes`."""
        is_confirmed = not self.dry_run and (self.yes or not is_needed)
        if not (is_confirmed or self.dry_run or self.as_json) and sys.stdin.isatty():
            is_confirmed = click.confirm(question, default=True, err=True)
        if not is_confirmed:
            hint = "" if self.dry_run else "; to do this, run it with --yes"
            self.session.output.note(f"nothing was changed{hint}")
        return is_confirmed


def _find_plan(
    client: Client, ledger: Ledger, agent: str | None, only: frozenset[str], kinds: Sequence[str]
) -> SetupPlan:
    """Return the plan for what is on this machine now."""
    reply, default = client.sources(), client.files(limit=1).agent
    agents = {SHARED, *(status.agent for status in client.status().agents)}
    if agent is not None and agent not in agents:
        raise HintedError(f"there is no agent {agent!r}", "run `memctl agents` to list them")
    sources = [*reply.sources, *reply.found]
    return make_plan(find_connections(agent, ledger), sources, agent or SHARED, default, only, kinds)


def _added(plan: SetupPlan) -> dict[str, dict[str, Any]]:
    """Return the settings of the sources to add."""
    steps = (step for step in plan.steps("sources") if step.is_done)
    return {step.name: {"agent": step.agent, **({"keep": True} if step.keeps else {})} for step in steps}


def _changes_of(plan: SetupPlan) -> list[SettingsChange]:
    """Return all changes of files, that of `memd.toml` first."""
    changes = [change for step in plan.steps() for change in step.changes]
    with contextlib.suppress(MemdError):  # reported when it is carried out
        changes.insert(0, plan_sources(_added(plan)))
    return [change for change in changes if not change.is_none]


def _print_plan(
    session: CliSession, plan: SetupPlan, changes: Sequence[SettingsChange], *, dry_run: bool
) -> None:
    if not plan.programs:
        session.output.note("found no program that memd knows on this machine; see docs/sources.md")
        return
    session.output.table(screen.HEADS, list(map(screen.plan_row, plan.programs)), shorten=("program",))
    session.output.lines(screen.plan_lines(plan, changes))
    if dry_run:
        session.output.text("".join(f"\n{change.diff()}" for change in changes))
    if not changes:
        session.output.text("nothing to change\n")


def _carry_out(
    client: Client, plan: SetupPlan, ledger: Ledger, done: Done, agent: str | None, now: str
) -> None:
    """Make the changes."""
    done.faults += [f"{step.name}, {step.kind}: {step.reason}" for step in plan.steps() if step.is_fault]
    added = _added(plan)
    with done.reported("sources"):
        if added:
            change = plan_sources(added)
            ledger.sources += [name for name in added if name not in ledger.sources]
            done.changed.append((str(change.path), ledger.carry_out(change, "sources", "", now)))
            late = [name for name in added if wait_for(client, name, present=True) is None]
            done.faults += [f"{name}: the daemon has not added it; see `memctl status`" for name in late]
    for planned in plan.steps():
        step, paths = planned, {path for path, _ in done.changed}
        if any(str(change.path) in paths for change in step.changes):  # hooks and servers are in one file
            fresh = find_connections(agent, ledger)
            step = next((new for new in fresh if (new.kind, new.name) == (step.kind, step.name)), step)
        for change in step.changes:
            with done.reported(f"{step.name}, {step.kind}"):
                if not change.is_none:
                    backup = ledger.carry_out(change, step.kind, step.name, now)
                    done.changed.append((str(change.path), backup))


def _index_and_prove(
    session: CliSession, client: Client, plan: SetupPlan, done: Done, *, quiet: bool
) -> None:
    """Index what was added, try hooks and MCP servers, and ask three questions."""
    for owner, (sources, _) in plan.agents.items():
        progress = session.output.progress(for_agent(owner), quiet=quiet)
        try:
            with done.reported(f"index of {owner}"), progress as show:
                client.index(agent=owner, on_progress=show)
        except KeyboardInterrupt:
            session.output.note("indexing continues in the background; `memctl status` shows its progress")
        spoken = [name for name in sources if KNOWN_SOURCES[name].kind == "transcripts"]
        with done.reported("search"):
            done.answers += find_answers(client, owner, spoken) if spoken and not done.answers else ()
    for step in plan.steps("hooks", "mcp"):
        if step.is_done or step.state == "present":
            done.proofs.append(prove(client, step.kind, step.name))
    done.faults += [f"{proof.program}, {proof.kind}: {proof.fault}" for proof in done.proofs if proof.fault]


def _remove(session: CliSession, client: Client, ledger: Ledger, done: Done, confirm: _Confirm) -> None:
    """Take back what setup did, the sources first, so that the daemon stops reading them."""
    files, names = ledger.files, list(ledger.sources)
    paths = sorted(files, key=lambda path: ("sources" not in files[path].kinds, path))
    if not (confirm.as_json or (confirm.yes and paths)):
        text = "".join(f"  {screen.short(path)}\n" for path in paths)
        session.output.text(text or "setup has changed nothing\n")
    if not paths or not confirm("Take memd out of these files?", is_needed=True):
        return
    for path in paths:
        with done.reported(path):
            done.taken_back.append(ledger.take_back(path))
    if not any("sources" in file.kinds for file in files.values()):
        late = [name for name in names if wait_for(client, name, present=False) is not None]
        done.faults += [f"{name}: the daemon still has it; see `memctl status`" for name in late]
        ledger.sources = []
    ledger.remove_folders()
    if not confirm.as_json:
        session.output.text(
            f"removed {count(len(names), 'source')}, and memd from {count(len(paths), 'file')}\n"
        )
        session.output.lines(screen.taken_back_lines(done.taken_back))
    for source in client.sources().removed:
        if source.name in names:
            session.output.note(remaining_copies(source))


def _as_document(plan: SetupPlan) -> dict[str, Any]:
    """Return the plan as JSON values, without the texts of settings, which may have keys."""
    bare = [
        replace(program, steps=[replace(step, changes=()) for step in program.steps])
        for program in plan.programs
    ]
    document: dict[str, Any] = to_builtins(replace(plan, programs=bare))
    return document
