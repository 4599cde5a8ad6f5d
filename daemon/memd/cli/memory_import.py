"""`memctl import`: notes of other programs, copied into an agent's workspace or searched in place."""

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

from memd.cli.arguments import ArgumentChoice, CommandWithArguments, agent_option, examples, json_option, utf8
from memd.cli.connect import CliSession
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
from memd.cli.progress import for_agent
from memd.importing.agents import ImportedAgent, load_agents
from memd.importing.origins import ImportEnvironment, Origin, find_origins
from memd.importing.plan import (
    CHANGED,
    CONFLICT,
    COPIED_STATES,
    DUPLICATE,
    EDITED,
    FAILED,
    GONE,
    KEPT,
    LEFT_OUT,
    NEW,
    SAME,
    WRITTEN_STATES,
    ImportRow,
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

EXIT_UNANSWERED = 2
"""Exit code if a confirmation is needed and there is no terminal."""

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
"""States whose files are listed, in this order; `SAME` is only counted."""

STATE_INDENT = 13
"""Columns before a path: two of indent, the longest state and two of space."""

FILES_SHOWN = 40
"""Files listed per state; the others are counted."""

RELOAD_TIMEOUT_S = 8.0
"""How long the daemon may take to reload its settings, which it checks every two seconds."""

POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """An agent, and why the daemon is unreachable; empty if it responded."""

    agent: ImportedAgent
    unreachable: str = ""


def find_target(session: CliSession, wanted: str | None) -> ImportTarget:
    """Return the agent to import for, from the daemon or else from the settings."""
    unreachable = ""
    disabled: set[str] = set()
    home = Path(home_directory())
    try:
        with session.client() as client:
            status = client.status()
    except MemdError as error:
        unreachable = error.message
        agents = load_agents(os.environ, home)
    else:
        config, state = Path(status.config_path), Path(status.state_dir)
        disabled = {each.agent for each in status.agents if not each.enabled}
        agents = [
            ImportedAgent(each.agent, Path(each.workspace), config, state, home)
            for each in status.agents
            if each.enabled and each.workspace
        ]
    if wanted is None:
        if len(agents) == 1:
            return ImportTarget(agents[0], unreachable)
        ids = ", ".join(each.id for each in agents) or "none"
        raise click.UsageError(
            f"several agents; pass --agent with one of: {ids}" if agents else "no agent has a memory"
        )
    name = wanted.strip().lower()
    for each in agents:
        if each.id == name:
            return ImportTarget(each, unreachable)
    if name in disabled:
        raise MemoryDisabledError(f"agent {name} has no memory: search.enabled is false")
    meant = did_you_mean(wanted, [each.id for each in agents])
    raise AgentUnknownError(f'no agent has the id "{wanted}"{meant}')


def confirm(session: CliSession, question: str, *, yes: bool) -> tuple[bool, int]:
    """Return whether the user permits writing, and the exit code if not."""
    if yes:
        return True, 0
    if sys.stdin is None or not sys.stdin.isatty():
        session.output.note("nothing was written: no terminal for a confirmation; pass --yes")
        return False, EXIT_UNANSWERED
    click.confirm(question, abort=True, err=True)
    return True, 0


def index_agent(session: CliSession, target: ImportTarget, *, quiet: bool) -> dict[str, Any] | None:
    """Index the agent and print how to search; None, with a note, if the daemon is unreachable."""
    name = target.agent.id
    if target.unreachable:
        session.output.note(
            f"the daemon is unreachable ({target.unreachable}); the files are indexed once it runs"
        )
        return None
    with session.client() as client, session.output.progress(for_agent(name), quiet=quiet) as show:
        reply = client.index(agent=name, on_progress=show)
    if not quiet:
        print_reply(click.get_current_context(), session, reply, as_json=False)
        session.output.text(f"search it: memctl search --agent {name} WORDS\n")
    document: dict[str, Any] = to_wire(reply)
    return document


def plan_lines(rows: Sequence[ImportRow], head: Sequence[str]) -> list[Line]:
    """Return the lines of a plan."""
    heading = [
        line(*shortenable(each, "title" if place == 0 else "quiet")) for place, each in enumerate(head)
    ]
    listed = [each for state in STATE_STYLES for each in _listed(rows, state)]
    return [*heading, BLANK, *listed, *([BLANK] if listed else []), line(summary_of(rows))]


def failed_lines(rows: Sequence[ImportRow]) -> list[Line]:
    """Return the files that could not be written, each with the reason."""
    return _listed(rows, FAILED)


def _listed(rows: Iterable[ImportRow], state: str) -> list[Line]:
    """Return the files of one state, up to `FILES_SHOWN`."""
    found = [each for each in rows if each.state == state]
    lines = [_row_line(each) for each in found[:FILES_SHOWN]]
    if len(found) > FILES_SHOWN:
        lines.append(
            line(
                (f"and {len(found) - FILES_SHOWN:,} more; --json lists all", "quiet"),
                indent=STATE_INDENT,
            )
        )
    return lines


def _row_line(row: ImportRow) -> Line:
    """Return the line of one file: its target and source, or why it is not imported."""
    head = ("  " + row.state, STATE_STYLES[row.state])
    if row.state in COPIED_STATES:
        why = f"; {row.reason}" if row.reason else ""
        source = (("  from ", "quiet"), (row.source, "place"), (why, "quiet"))
        pieces = ((row.target, "path"), f"  {size(row.size)}", *source)
        return Line(pieces, STATE_INDENT, head)
    place = row.target if row.state in (KEPT, CONFLICT, EDITED, GONE, FAILED) and row.target else row.source
    figure = f" ({size(row.size)})" if row.state == LEFT_OUT and row.size else ""
    return Line(((place, "path"), f": {row.reason}{figure}"), STATE_INDENT, head)


def summary_of(rows: Iterable[ImportRow], verb: str = "to write") -> str:
    """Return the number of files of each state, such as `2 files to write (1.2 kB), 1 left out`."""
    rows = list(rows)
    states = Counter(each.state for each in rows)
    wanted = [each for each in rows if each.state in WRITTEN_STATES]
    taken = [each.size for each in wanted if each.state in COPIED_STATES]
    bytes_ = f" ({size(sum(taken))})" if taken else ""
    parts = [f"{count(len(wanted), 'file')} {verb}{bytes_}"]
    words = {SAME: "unchanged", EDITED: "edited", DUPLICATE: "stored already", GONE: "without a source"}
    for state in (SAME, CONFLICT, EDITED, DUPLICATE, LEFT_OUT, GONE, FAILED):
        if states[state]:
            word = "in conflict" if state == CONFLICT else words.get(state, state)
            parts.append(f"{states[state]:,} {word}")
    return ", ".join(parts)


def import_vault(
    session: CliSession, vault: Path, target: ImportTarget, *, dry_run: bool, yes: bool, quiet: bool
) -> tuple[dict[str, Any], int]:
    """Show the plan, ask, write and index; return the result for JSON and the exit code."""
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
        may, code = confirm(session, f"Add it to {agent.config}?", yes=yes)
    if not may:
        by_hand = 1 if plan.state == BY_HAND and not dry_run else code
        return {**facts, "applied": False, "backup": None, "indexed": None}, by_hand
    before = _indexed_files(session, target)
    backup = carry_out_vault(plan, agent.config, stamp(session.now_ms()))
    if not quiet:
        kept = f"; backup: {backup}" if backup else ""
        session.output.text(f"written: {agent.config}{kept}\n")
    if not target.unreachable and plan.files:
        wait_until(lambda: _indexed_files(session, target) > before)
    indexed = index_agent(session, target, quiet=quiet)
    return {**facts, "applied": True, "backup": str(backup) if backup else None, "indexed": indexed}, 0


def wait_until(is_true: Callable[[], bool], timeout_s: float = RELOAD_TIMEOUT_S) -> bool:
    """Return whether a condition became true before the timeout."""
    until = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _indexed_files(session: CliSession, target: ImportTarget) -> int:
    """Return the number of files in the agent's index; -1 if the daemon is unreachable."""
    if target.unreachable:
        return -1
    try:
        with session.client() as client:
            agents = client.status(target.agent.id).agents
    except MemdError:
        return -1
    return agents[0].files if agents else -1


def _vault_lines(plan: VaultPlan, target: ImportTarget) -> list[Line]:
    """Return the lines of a plan for a vault."""
    agent = target.agent
    lines = [
        line((f"{agent.id}  {agent.workspace}", "title")),
        row("vault", (str(plan.vault), "path"), f"  {count(plan.files, 'file')}, {size(plan.size)}"),
    ]
    if not (plan.vault / ".obsidian").is_dir():
        lines.append(row("", ("no .obsidian folder in it: treated as a folder of Markdown files", "warn")))
    if plan.left_out:
        named = [line((each.path, "path"), f": {each.reason}", indent=LABEL_INDENT) for each in plan.left_out]
        lines += [row("left out", (count(len(plan.left_out), "file"), "warn")), *first_few(named)]
    if plan.state == NEW_ENTRY:
        lines.append(row("to add", f"an extra path of {agent.id} in ", (str(agent.config), "path")))
    elif plan.state == BY_HAND:
        entry = [line(each, indent=2) for each in plan.lines.splitlines()]
        lines += [row("by hand", (plan.reason, "warn")), line("add these lines to it:"), BLANK, *entry]
    else:
        lines.append(row("no change", plan.reason))
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
@click.argument("kind", metavar="KIND", type=ArgumentChoice(KINDS))
@click.argument("source", type=utf8, required=False)
@agent_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, without writing.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.option(
    "--keep-mine", is_flag=True, help="If source and copy have both changed, keep the copy permanently."
)
@json_option
@click.pass_obj
@click.pass_context
def command(
    ctx: click.Context,
    session: CliSession,
    kind: str,
    source: str | None,
    agent: str | None,
    dry_run: bool,
    yes: bool,
    keep_mine: bool,
    as_json: bool,
) -> None:
    """Import notes of another program into an agent's memory.

    KIND is claude-code, codex, memsearch, basic-memory or obsidian.

    Shows a plan and asks before writing. Sources are not changed; copies go to memory/imported/ in the workspace, each
    with a line that names its source. A second import updates changed sources and keeps copies that you edited. An
    Obsidian vault is not copied: its path is added to openclaw.json, and the vault is searched in place.

    Exits with 1 if a file could not be written, and with 2 if a confirmation is needed and there is no terminal.
    """
    environment = ImportEnvironment(os.environ, Path(home_directory()), Path.cwd())
    target = find_target(session, agent)
    if kind == OBSIDIAN:
        if source is None:
            raise click.UsageError("pass the vault's path: the folder that contains .obsidian")
        if keep_mine:
            raise click.UsageError("--keep-mine cannot be combined with obsidian: a vault is not copied")
        document, code = import_vault(
            session, environment.absolute(source), target, dry_run=dry_run, yes=yes, quiet=as_json
        )
    else:
        origins = find_origins(kind, source, environment)
        document, code = _copy(
            session, kind, origins, target, dry_run=dry_run, yes=yes, keep_mine=keep_mine, quiet=as_json
        )
    if as_json:
        session.output.document({"kind": kind, **document})
    if code:
        ctx.exit(code)


def _copy(
    session: CliSession,
    kind: str,
    origins: Sequence[Origin],
    target: ImportTarget,
    *,
    dry_run: bool,
    yes: bool,
    keep_mine: bool,
    quiet: bool,
) -> tuple[dict[str, Any], int]:
    """Plan, ask, write and index; return the result for JSON and the exit code."""
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
    wanted = sum(row.state in WRITTEN_STATES for row in rows)
    may, code = (
        (False, 0) if not wanted or dry_run else confirm(session, f"Write {count(wanted, 'file')}?", yes=yes)
    )
    if not may:
        return {**facts, **_row_facts(rows), "applied": False, "indexed": None}, code
    rows = carry_out(rows, kind, agent.workspace, stamp(session.now_ms(), ISO))
    if not quiet:
        session.output.lines(failed_lines(rows))
        session.output.text(summary_of(rows, "written") + "\n")
    indexed = index_agent(session, target, quiet=quiet)
    document = {**facts, **_row_facts(rows), "applied": True, "indexed": indexed}
    return document, 1 if any(row.state == FAILED for row in rows) else 0


def _row_facts(rows: list[ImportRow]) -> dict[str, Any]:
    """Return the state of each file for JSON."""
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
