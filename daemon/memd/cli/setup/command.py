"""`memctl setup`: connect the agents' programs on this machine to memory, and take it back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict

from memd.cli.arguments import HintedError, agent_option, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import Line, line, stamp
from memd.cli.progress import for_agent
from memd.cli.setup import screen
from memd.cli.setup.discover import find_connections
from memd.cli.setup.ledger import Ledger, TakenBack, load_ledger, recorded
from memd.cli.setup.plan import KINDS, SetupPlan, Step, make_plan, program_of
from memd.cli.setup.prove import Answer, Proof, find_answers, prove_hook, prove_mcp
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
    """What setup did: changed files with their backups, faults, proofs and answers."""

    changed: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def _programs(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str]:
    """Return the programs of `--only`."""
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in PROGRAMS:
            known = sorted({program_of(known) for known in PROGRAMS})
            raise click.BadParameter(f"{name!r} is not a program{did_you_mean(name, known)}")
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
    if session.host is not None:
        from memd.cli.host import local_command_error

        raise local_command_error(session.host, "setup")
    if remove and (only or agent):
        raise click.UsageError("--remove takes back everything; omit --only and --agent")
    ledger = load_ledger()
    is_allowed = yes and not dry_run
    with session.client() as client:
        if remove:
            _remove(ctx, session, client, ledger, is_allowed=is_allowed, dry_run=dry_run, as_json=as_json)
            return
        kinds = [kind for kind in KINDS if not without[f"no_{kind}"]]
        plan = _find_plan(client, ledger, agent, only, kinds)
        changes = _changes_of(plan)
        if not as_json:
            _print_plan(session, plan, changes, dry_run=dry_run)
        is_asked = bool(changes) and not (yes or dry_run or as_json) and sys.stdin.isatty()
        if is_asked:
            is_allowed = click.confirm("Do this?", default=True, err=True)
        if (changes or dry_run) and not is_allowed:
            _print_nothing(session, plan, is_asked=is_asked or dry_run, as_json=as_json)
            return
        done = Done(faults=[f"{step.name}: {step.reason}" for step in _faults(plan)])
        _carry_out(session, client, plan, ledger, done)
        _index_and_prove(session, client, plan, done, quiet=as_json)
    if as_json:
        session.output.document(_as_document(plan, done))
    else:
        session.output.lines(_done_lines(done))
    _end(ctx, session, done)


def _end(ctx: click.Context, session: CliSession, done: Done) -> None:
    """Print the faults, and exit with 1 if there are any."""
    for fault in done.faults:
        session.output.note(f"not done: {fault}")
    if done.faults:
        ctx.exit(1)


def _find_plan(
    client: Client, ledger: Ledger, agent: str | None, only: Collection[str], kinds: Sequence[str]
) -> SetupPlan:
    """Return the plan for what is on this machine now."""
    reply = client.sources()
    default = client.files(limit=1).agent
    agents = {status.agent for status in client.status().agents}
    if agent is not None and agent not in {SHARED, *agents}:
        raise HintedError(f"there is no agent {agent!r}", "run `memctl agents` to list them")
    connections = find_connections(agent, ledger)
    return make_plan(connections, [*reply.sources, *reply.found], agent or SHARED, default, only, kinds)


def _changes_of(plan: SetupPlan) -> list[SettingsChange]:
    """Return all changes of files, that of `memd.toml` first."""
    added = {step.name: _source_settings(step) for step in plan.steps("sources")}
    changes: list[SettingsChange] = []
    with contextlib.suppress(MemdError):  # reported when it is carried out
        changes += [plan_sources(added)] if added else []
    changes += [change for step in plan.steps() for change in step.changes]
    return [change for change in changes if not change.is_none]


def _source_settings(step: Step) -> dict[str, Any]:
    return {"agent": step.agent, **({"keep": True} if step.keeps else {})}


def _faults(plan: SetupPlan) -> list[Step]:
    return [step for program in plan.programs for step in program.steps if step.is_fault]


def _print_plan(
    session: CliSession, plan: SetupPlan, changes: Sequence[SettingsChange], *, dry_run: bool
) -> None:
    if not plan.programs:
        session.output.note("found no program that memd knows on this machine; see docs/sources.md")
        return
    session.output.table(screen.HEADS, screen.plan_rows(plan), shorten=("program",))
    session.output.lines(screen.plan_lines(plan, changes))
    if dry_run:
        session.output.text("".join(f"\n{change.diff()}" for change in changes))


def _print_nothing(session: CliSession, plan: SetupPlan, *, is_asked: bool, as_json: bool) -> None:
    """Say that nothing was changed."""
    if as_json:
        session.output.document(_as_document(plan, Done()))
    hint = "" if is_asked else "; to do this, run `memctl setup --yes`"
    session.output.note(f"nothing was changed{hint}")


def _carry_out(session: CliSession, client: Client, plan: SetupPlan, ledger: Ledger, done: Done) -> None:
    """Make the changes; a fault in one file doesn't stop the others."""
    now = stamp(session.now_ms())
    added = {step.name: _source_settings(step) for step in plan.steps("sources")}
    work = [(step.kind, step.name, change) for step in plan.steps() for change in step.changes]
    with _reported(done, "sources"):
        if added:
            change = plan_sources(added)
            ledger.sources += [name for name in added if name not in ledger.sources]
            done.changed.append((str(change.path), ledger.carry_out(change, "sources", "", now)))
            late = [name for name in added if wait_for(client, name, present=True) is None]
            done.faults += [f"{name}: the daemon has not added it; see `memctl status`" for name in late]
    for kind, program, change in work:
        with _reported(done, f"{program}, {kind}"):
            if not change.is_none:
                done.changed.append((str(change.path), ledger.carry_out(change, kind, program, now)))


@contextlib.contextmanager
def _reported(done: Done, about: str) -> Iterator[None]:
    """Record a fault instead of raising it."""
    try:
        yield
    except (MemdError, OSError) as error:
        done.faults.append(f"{about}: {error}")


def _index_and_prove(
    session: CliSession, client: Client, plan: SetupPlan, done: Done, *, quiet: bool
) -> None:
    """Index what was added, try hooks and MCP servers, and ask three questions."""
    for owner in plan.readers:
        try:
            with (
                _reported(done, f"index of {owner}"),
                session.output.progress(for_agent(owner), quiet=quiet) as show,
            ):
                client.index(agent=owner, on_progress=show)
        except KeyboardInterrupt:
            session.output.note("indexing continues in the background; `memctl status` shows its progress")
    for program in plan.programs:
        for step in program.steps:
            if step.is_done or step.state == "present":
                if step.kind == "hooks":
                    done.proofs.append(prove_hook(client, step.name))
                elif step.kind == "mcp":
                    done.proofs.append(prove_mcp(step.name))
    done.faults += [f"{proof.program}, {proof.what}: {proof.fault}" for proof in done.proofs if proof.fault]
    for owner, (sources, _) in plan.readers.items():
        spoken = [name for name in sources if KNOWN_SOURCES[name].kind == "transcripts"]
        with _reported(done, "search"):
            done.answers += find_answers(client, owner, spoken) if spoken and not done.answers else ()


def _done_lines(done: Done) -> list[Line]:
    lines = list(screen.changed_lines(done.changed)) if done.changed else [line("nothing to change")]
    lines += screen.proof_lines(done.proofs) if done.proofs else ()
    has_openclaw = find_openclaw(home_directory()) is not None
    return [*lines, *screen.answer_lines(done.answers), *screen.end_lines(has_openclaw)]


def _remove(
    ctx: click.Context,
    session: CliSession,
    client: Client,
    ledger: Ledger,
    *,
    is_allowed: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take back what setup did."""
    paths, names, done = list(recorded(ledger)), list(ledger.sources), Done()
    files: list[TakenBack] = []
    if not paths:
        session.output.text("setup has changed nothing\n")
        return
    if not is_allowed:
        session.output.lines(line((screen.short(path), "path"), indent=2) for path in paths)
        is_asked = sys.stdin.isatty() and not dry_run
        if not is_asked or not click.confirm("Take memd out of these files?", default=True, err=True):
            session.output.note(
                "nothing was changed" + ("" if is_asked or dry_run else "; pass --yes to do it")
            )
            return
    for path in paths:
        with _reported(done, path):
            files.append(ledger.take_back(path))
    if not any(ledger.files[path].kind == "sources" for path in ledger.files):
        late = [name for name in names if wait_for(client, name, present=False) is not None]
        done.faults += [f"{name}: the daemon still has it; see `memctl status`" for name in late]
        ledger.sources = []
    ledger.remove_folders()
    copies = [source for source in client.sources().removed if source.name in names]
    if as_json:
        session.output.document(
            {"removed": names, "files": [asdict(file) for file in files], "faults": done.faults}
        )
    else:
        session.output.text(screen.summary(len(names), len(files)) + "\n")
        session.output.lines(screen.taken_back_lines(files))
    for source in copies:
        session.output.note(remaining_copies(source))
    _end(ctx, session, done)


def _as_document(plan: SetupPlan, done: Done) -> dict[str, Any]:
    """Return the plan and what was done as JSON values, without the texts of settings, which may have keys."""
    programs = [
        {**asdict(program), "steps": [_step_document(step) for step in program.steps]}
        for program in plan.programs
    ]
    readers = {
        owner: {"sources": names, "readers": titles} for owner, (names, titles) in plan.readers.items()
    }
    return {"programs": programs, "agents": readers, **to_builtins(done)}


def _step_document(step: Step) -> dict[str, Any]:
    files = [str(change.path) for change in step.changes]
    keys = {"kind": step.kind, "name": step.name, "state": step.state, "reason": step.reason}
    return {**keys, "files": files, "agent": step.agent}
