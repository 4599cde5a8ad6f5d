"""`memctl import`: memories of other programs, copied into an agent's workspace or searched where they are."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from memd.cli.arguments import Choice, CommandWithArguments, agent_option, examples, json_option, utf8
from memd.cli.connect import Session
from memd.cli.indexing import print_reply
from memd.cli.lines import (
    BLANK,
    ISO,
    LABEL_INDENT,
    Line,
    count,
    first_few,
    line,
    row,
    shortenable,
    size,
    stamp,
)
from memd.cli.progress import of_agent
from memd.importing.agents import Agent, load_agents
from memd.importing.origins import Origin, Surroundings, find_origins
from memd.importing.plan import (
    CHANGED,
    CONFLICT,
    DUPLICATE,
    EDITED,
    FAILED,
    GONE,
    KEPT,
    LEFT_OUT,
    NEW,
    SAME,
    TAKEN,
    WRITTEN,
    Row,
    carry_out,
    make_plan,
)
from memd.importing.vault import BY_HAND, VaultPlan, carry_out_vault, plan_vault
from memd.importing.vault import NEW as NEW_ENTRY
from memd.system.nearest_name import did_you_mean
from memd_client.discovery import home_directory
from memd_client.errors import AgentUnknownError, MemdError, MemoryDisabledError
from memd_client.wire import to_wire

COPIED = ("claude-code", "codex", "memsearch", "basic-memory")
OBSIDIAN = "obsidian"
KINDS = (*COPIED, OBSIDIAN)

UNANSWERED = 2
"""The exit code where something was to be written and nobody said that it may."""

STATE_STYLES = {
    NEW: "good",
    CHANGED: "good",
    KEPT: "good",
    CONFLICT: "warn",
    EDITED: "quiet",
    DUPLICATE: "quiet",
    LEFT_OUT: "warn",
    GONE: "quiet",
    FAILED: "bad",
}
"""States that are listed, in this order. `SAME` is only counted: nothing is to be said of it."""

STATE_INDENT = 13
"""Columns before a path: two of indent, the longest state and two of air."""

FILES_SHOWN = 40
"""Files of one state that are listed before the rest is only counted."""

TAKEN_OVER_S = 8.0
"""How long the daemon may take to notice its settings: it looks at them every two seconds."""

POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """An agent, and why no daemon could be asked about it; empty where one answered."""

    agent: Agent
    away: str = ""


def find_target(session: Session, wanted: str | None) -> ImportTarget:
    """Return the agent to import for: as the daemon knows it, else as the settings say."""
    away = ""
    disabled: set[str] = set()
    home = Path(home_directory())
    try:
        with session.client() as client:
            status = client.status()
    except MemdError as error:
        away = error.message
        agents = load_agents(os.environ, home)
    else:
        config, state = Path(status.config_path), Path(status.state_dir)
        disabled = {each.agent for each in status.agents if not each.enabled}
        agents = [
            Agent(each.agent, Path(each.workspace), config, state, home)
            for each in status.agents
            if each.enabled and each.workspace
        ]
    if wanted is None:
        if len(agents) == 1:
            return ImportTarget(agents[0], away)
        ids = ", ".join(each.id for each in agents) or "none"
        raise click.UsageError(f"Name the agent whose memory it is to be with --agent; there are: {ids}.")
    name = wanted.strip().lower()
    for each in agents:
        if each.id == name:
            return ImportTarget(each, away)
    if name in disabled:
        raise MemoryDisabledError(f"Agent {name} has no memory: search.enabled is false.")
    meant = did_you_mean(wanted, [each.id for each in agents])
    raise AgentUnknownError(f'No agent has the id "{wanted}"{meant or "."}')


def ask(session: Session, question: str, *, yes: bool) -> tuple[bool, int]:
    """Return whether something may be written, and the exit code where it may not."""
    if yes:
        return True, 0
    if sys.stdin is None or not sys.stdin.isatty():
        session.output.note("nothing was written: there is no terminal to ask on; give --yes to write")
        return False, UNANSWERED
    click.confirm(question, abort=True, err=True)
    return True, 0


def index(session: Session, target: ImportTarget, *, quiet: bool) -> dict[str, Any] | None:
    """Have the agent indexed and say how to search; None where there is no daemon, which is said too."""
    name = target.agent.id
    if target.away:
        session.output.note(
            f"no daemon answers ({target.away}): what was written can be searched as soon as one runs"
        )
        return None
    with session.client() as client, session.output.progress(of_agent(name), quiet=quiet) as show:
        reply = client.index(agent=name, on_progress=show)
    if not quiet:
        print_reply(click.get_current_context(), session, reply, as_json=False)
        session.output.text(f"search it: memctl search --agent {name} WORDS\n")
    document: dict[str, Any] = to_wire(reply)
    return document


def plan_lines(rows: Sequence[Row], head: Sequence[str]) -> list[Line]:
    """Return a plan as it is shown before anything is written."""
    said = [line(*shortenable(each, "title" if place == 0 else "quiet")) for place, each in enumerate(head)]
    listed = [each for state in STATE_STYLES for each in _listed(rows, state)]
    return [*said, BLANK, *listed, *([BLANK] if listed else []), line(sum_of(rows))]


def failed_lines(rows: Sequence[Row]) -> list[Line]:
    """Return the files that were to be written and weren't, each with its reason."""
    return _listed(rows, FAILED)


def _listed(rows: Iterable[Row], state: str) -> list[Line]:
    """Return the files of one state, the first of them if there are many."""
    found = [each for each in rows if each.state == state]
    lines = [_row_line(each) for each in found[:FILES_SHOWN]]
    if len(found) > FILES_SHOWN:
        lines.append(
            line(
                (f"and {len(found) - FILES_SHOWN:,} more; --json lists them all", "quiet"),
                indent=STATE_INDENT,
            )
        )
    return lines


def _row_line(row: Row) -> Line:
    """Return the line of one file: where it goes and what it comes from, or why it doesn't go anywhere."""
    head = ("  " + row.state, STATE_STYLES[row.state])
    if row.state in TAKEN:
        why = f"; {row.reason}" if row.reason else ""
        source = (("  from ", "quiet"), (row.source, "place"), (why, "quiet"))
        pieces = ((row.target, "path"), f"  {size(row.size)}", *source)
        return Line(pieces, STATE_INDENT, head)
    place = row.target if row.state in (KEPT, CONFLICT, EDITED, GONE, FAILED) and row.target else row.source
    figure = f" ({size(row.size)})" if row.state == LEFT_OUT and row.size else ""
    return Line(((place, "path"), f": {row.reason}{figure}"), STATE_INDENT, head)


def sum_of(rows: Iterable[Row], verb: str = "to write") -> str:
    """Return how many files there are of each state, such as `2 files to write (1.2 kB), 1 left out.`"""
    rows = list(rows)
    states = Counter(each.state for each in rows)
    wanted = [each for each in rows if each.state in WRITTEN]
    taken = [each.size for each in wanted if each.state in TAKEN]
    bytes_ = f" ({size(sum(taken))})" if taken else ""
    parts = [f"{count(len(wanted), 'file')} {verb}{bytes_}"]
    words = {SAME: "as they are", EDITED: "edited here", DUPLICATE: "known already", GONE: "without a source"}
    for state in (SAME, CONFLICT, EDITED, DUPLICATE, LEFT_OUT, GONE, FAILED):
        if states[state]:
            word = "in conflict" if state == CONFLICT else words.get(state, state)
            parts.append(f"{states[state]:,} {word}")
    return ", ".join(parts) + "."


def import_vault(
    session: Session, vault: Path, target: ImportTarget, *, dry_run: bool, yes: bool, quiet: bool
) -> tuple[dict[str, Any], int]:
    """Show what would be written, ask, write it and index; return what there is to say, and the exit code."""
    agent = target.agent
    plan = plan_vault(vault, agent)
    if not quiet:
        session.output.lines(_vault_lines(plan, target))
    facts: dict[str, Any] = {
        "agent": agent.id,
        "workspace": str(agent.workspace),
        "vault": str(plan.vault),
        "config": str(agent.config),
        "state": plan.state.replace(" ", "_"),
        "reason": plan.reason,
        "lines": plan.lines,
        "files": plan.files,
        "size": plan.size,
        "left_out": [{"path": each.path, "reason": each.reason} for each in plan.left_out],
    }
    may, code = (False, 0)
    if plan.state == NEW_ENTRY and not dry_run:
        may, code = ask(session, f"Write it into {agent.config}?", yes=yes)
    if not may:
        by_hand = 1 if plan.state == BY_HAND and not dry_run else code
        return {**facts, "applied": False, "backup": None, "indexed": None}, by_hand
    before = _indexed_files(session, target)
    backup = carry_out_vault(plan, agent.config, stamp(session.now_ms()))
    if not quiet:
        kept = f"; as it was: {backup}" if backup else ""
        session.output.text(f"written: {agent.config}{kept}\n")
    if not target.away and plan.files:
        wait_until(lambda: _indexed_files(session, target) > before)
    indexed = index(session, target, quiet=quiet)
    return {**facts, "applied": True, "backup": str(backup) if backup else None, "indexed": indexed}, 0


def wait_until(is_so: Callable[[], bool], timeout_s: float = TAKEN_OVER_S) -> bool:
    """Return whether something came to be in time."""
    until = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _indexed_files(session: Session, target: ImportTarget) -> int:
    """Return how many files the agent has in its index; -1 where nobody can be asked just now."""
    if target.away:
        return -1
    try:
        with session.client() as client:
            agents = client.status(target.agent.id).agents
    except MemdError:
        return -1
    return agents[0].files if agents else -1


def _vault_lines(plan: VaultPlan, target: ImportTarget) -> list[Line]:
    """Return what would be done, as it is shown before anything is written."""
    agent = target.agent
    lines = [
        line((f"{agent.id}  {agent.workspace}", "title")),
        row("vault", (str(plan.vault), "path"), f"  {count(plan.files, 'file')}, {size(plan.size)}"),
    ]
    if not (plan.vault / ".obsidian").is_dir():
        lines.append(row("", ("no .obsidian in it: taken as a folder of Markdown", "warn")))
    if plan.left_out:
        named = [line((each.path, "path"), f": {each.reason}", indent=LABEL_INDENT) for each in plan.left_out]
        lines += [row("left out", (count(len(plan.left_out), "file"), "warn")), *first_few(named)]
    if plan.state == NEW_ENTRY:
        lines.append(row("to write", f"an extra path of {agent.id} in ", (str(agent.config), "path")))
    elif plan.state == BY_HAND:
        told = [line(each, indent=2) for each in plan.lines.splitlines()]
        lines += [row("by hand", (plan.reason, "warn")), line("Merge these lines into it:"), BLANK, *told]
    else:
        lines.append(row("nothing", plan.reason))
    return lines


@click.command(
    "import",
    cls=CommandWithArguments,
    epilog=examples(
        "memctl import claude-code --dry-run",
        "memctl import claude-code ~/work/shop --agent main",
        "memctl import obsidian ~/Notes --agent main --yes",
    ),
)
@click.argument("kind", metavar="KIND", type=Choice(KINDS))
@click.argument("source", type=utf8, required=False)
@agent_option
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option(
    "--keep-mine", is_flag=True, help="Where source and copy have both changed, keep the copy for good."
)
@json_option
@click.pass_obj
@click.pass_context
def command(
    ctx: click.Context,
    session: Session,
    kind: str,
    source: str | None,
    agent: str | None,
    dry_run: bool,
    yes: bool,
    keep_mine: bool,
    as_json: bool,
) -> None:
    """Bring memories of another program to an agent.

    KIND is claude-code, codex, memsearch, basic-memory or obsidian.

    Shows first what would be written where, and asks. Sources are only read; copies go to memory/imported/ of the
    workspace with a line about where they are from. A second import writes what has changed since, and never over
    what you edited. An Obsidian vault is not copied but searched where it is: its path goes into openclaw.json.

    Ends with 1 where a file could not be written, with 2 where there was nobody to ask and no --yes.
    """
    around = Surroundings(os.environ, Path(home_directory()), Path.cwd())
    target = find_target(session, agent)
    if kind == OBSIDIAN:
        if source is None:
            raise click.UsageError("Name the vault: the folder .obsidian is in.")
        if keep_mine:
            raise click.UsageError("A vault is searched where it is: there are no copies to keep.")
        document, code = import_vault(
            session, around.absolute(source), target, dry_run=dry_run, yes=yes, quiet=as_json
        )
    else:
        origins = find_origins(kind, source, around)
        document, code = _copy(
            session, kind, origins, target, dry_run=dry_run, yes=yes, keep_mine=keep_mine, quiet=as_json
        )
    if as_json:
        session.output.document({"kind": kind, **document})
    if code:
        ctx.exit(code)


def _copy(
    session: Session,
    kind: str,
    origins: Sequence[Origin],
    target: ImportTarget,
    *,
    dry_run: bool,
    yes: bool,
    keep_mine: bool,
    quiet: bool,
) -> tuple[dict[str, Any], int]:
    """Plan, ask, write and index; return what there is to say of it, and the exit code."""
    agent = target.agent
    rows = make_plan(origins, agent.workspace, keep_mine=keep_mine)
    if not quiet:
        head = [f"{agent.id}  {agent.workspace}", *(f"{kind} from {each.root}" for each in origins)]
        session.output.lines(plan_lines(rows, head))
    facts = {
        "agent": agent.id,
        "workspace": str(agent.workspace),
        "sources": [str(each.root) for each in origins],
    }
    wanted = sum(row.state in WRITTEN for row in rows)
    may, code = (
        (False, 0) if not wanted or dry_run else ask(session, f"Write these {wanted:,} files?", yes=yes)
    )
    if not may:
        return {**facts, **_row_facts(rows), "applied": False, "indexed": None}, code
    rows = carry_out(rows, kind, agent.workspace, stamp(session.now_ms(), ISO))
    if not quiet:
        session.output.lines(failed_lines(rows))
        session.output.text(sum_of(rows, "written") + "\n")
    indexed = index(session, target, quiet=quiet)
    document = {**facts, **_row_facts(rows), "applied": True, "indexed": indexed}
    return document, 1 if any(row.state == FAILED for row in rows) else 0


def _row_facts(rows: list[Row]) -> dict[str, Any]:
    """Return what becomes, or became, of each file for a script."""
    files = [
        {
            "state": row.state.replace(" ", "_"),
            "source": row.source,
            "target": row.target,
            "size": row.size,
            "reason": row.reason,
        }
        for row in rows
    ]
    return {"counts": dict(Counter(str(each["state"]) for each in files)), "files": files}
