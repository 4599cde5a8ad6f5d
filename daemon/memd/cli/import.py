# ruff: noqa: N999 - the module has the command's name, as all have, and is imported by that name alone
"""`memctl import`: memories of other programs, copied into an agent's workspace or searched where they are."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memd.cli.connect import Session
from memd.cli.groups import CommandWithArguments
from memd.cli.options import Choice, agent_option, examples, json_option, utf8
from memd_client.discovery import home_directory

if TYPE_CHECKING:
    from memd.cli.import_place import Place
    from memd.importing.plan import Row

COPIED = ("claude-code", "codex", "memsearch", "basic-memory")
OBSIDIAN = "obsidian"
KINDS = (*COPIED, OBSIDIAN)


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
    from memd.cli.import_place import find_place
    from memd.importing.origins import Surroundings

    around = Surroundings(os.environ, Path(home_directory()), Path.cwd())
    place = find_place(session, agent)
    if kind == OBSIDIAN:
        from memd.cli.import_vault import import_vault

        if source is None:
            raise click.UsageError("Name the vault: the folder .obsidian is in.")
        if keep_mine:
            raise click.UsageError("A vault is searched where it is: there are no copies to keep.")
        document, code = import_vault(
            session, around.absolute(source), place, dry_run=dry_run, yes=yes, quiet=as_json
        )
    else:
        document, code = _copy(
            session, kind, source, place, dry_run=dry_run, yes=yes, keep_mine=keep_mine, quiet=as_json
        )
    if as_json:
        session.output.document({"kind": kind, **document})
    if code:
        ctx.exit(code)


def _copy(
    session: Session,
    kind: str,
    source: str | None,
    place: Place,
    *,
    dry_run: bool,
    yes: bool,
    keep_mine: bool,
    quiet: bool,
) -> tuple[dict[str, Any], int]:
    """Plan, ask, write and index; return what there is to say of it, and the exit code."""
    from memd.cli.import_lines import failed_lines, plan_lines, sum_of
    from memd.cli.import_steps import ask, index
    from memd.cli.wording import ISO, stamp
    from memd.importing.origins import Surroundings, find_origins
    from memd.importing.plan import FAILED, WRITTEN, carry_out, make_plan

    origins = find_origins(kind, source, Surroundings(os.environ, Path(home_directory()), Path.cwd()))
    agent = place.agent
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
        return {**facts, **_document(rows), "applied": False, "indexed": None}, code
    rows = carry_out(rows, kind, agent.workspace, stamp(session.now_ms(), ISO))
    if not quiet:
        session.output.lines(failed_lines(rows))
        session.output.text(sum_of(rows, "written") + "\n")
    indexed = index(session, place, quiet=quiet)
    document = {**facts, **_document(rows), "applied": True, "indexed": indexed}
    return document, 1 if any(row.state == FAILED for row in rows) else 0


def _document(rows: list[Row]) -> dict[str, Any]:
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
