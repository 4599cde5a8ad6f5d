"""`memctl import obsidian`: a vault is searched where it is; only its path is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memd.cli.connect import Session
from memd.cli.import_place import Place
from memd.cli.import_steps import ask, index
from memd.cli.lines import BLANK, Line, first_few, line, row
from memd.cli.wording import count, size, stamp
from memd.importing.vault import BY_HAND, NEW, VaultPlan, carry_out_vault, plan_vault
from memd_client.errors import MemdError

TAKEN_OVER_S = 8.0
"""How long the daemon may take to notice its settings: it looks at them every two seconds."""

POLL_S = 0.25


def import_vault(
    session: Session, vault: Path, place: Place, *, dry_run: bool, yes: bool, quiet: bool
) -> tuple[dict[str, Any], int]:
    """Show what would be written, ask, write it and index; return what there is to say, and the exit code."""
    agent = place.agent
    plan = plan_vault(vault, agent)
    if not quiet:
        session.output.lines(_lines(plan, place))
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
    if plan.state == NEW and not dry_run:
        may, code = ask(session, f"Write it into {agent.config}?", yes=yes)
    if not may:
        by_hand = 1 if plan.state == BY_HAND and not dry_run else code
        return {**facts, "applied": False, "backup": None, "indexed": None}, by_hand
    before = _files(session, place)
    backup = carry_out_vault(plan, agent.config, stamp(session.now_ms()))
    if not quiet:
        kept = f"; as it was: {backup}" if backup else ""
        session.output.text(f"written: {agent.config}{kept}\n")
    if not place.away and plan.files:
        wait_until(lambda: _files(session, place) > before)
    indexed = index(session, place, quiet=quiet)
    return {**facts, "applied": True, "backup": str(backup) if backup else None, "indexed": indexed}, 0


def wait_until(is_so: Callable[[], bool], timeout_s: float = TAKEN_OVER_S) -> bool:
    """Return whether something came to be in time."""
    until = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _files(session: Session, place: Place) -> int:
    """Return how many files the agent has in its index; -1 where nobody can be asked just now."""
    if place.away:
        return -1
    try:
        with session.client() as client:
            agents = client.status(place.agent.id).agents
    except MemdError:
        return -1
    return agents[0].files if agents else -1


def _lines(plan: VaultPlan, place: Place) -> list[Line]:
    """Return what would be done, as it is shown before anything is written."""
    agent = place.agent
    lines = [
        line((f"{agent.id}  {agent.workspace}", "title")),
        row("vault", (str(plan.vault), "path"), f"  {count(plan.files, 'file')}, {size(plan.size)}"),
    ]
    if not (plan.vault / ".obsidian").is_dir():
        lines.append(row("", ("no .obsidian in it: taken as a folder of Markdown", "warn")))
    if plan.left_out:
        named = [line((each.path, "path"), f": {each.reason}", indent=14) for each in plan.left_out]
        lines += [row("left out", (count(len(plan.left_out), "file"), "warn")), *first_few(named)]
    if plan.state == NEW:
        lines.append(row("to write", f"an extra path of {agent.id} in ", (str(agent.config), "path")))
    elif plan.state == BY_HAND:
        told = [line(each, indent=2) for each in plan.lines.splitlines()]
        lines += [row("by hand", (plan.reason, "warn")), line("Merge these lines into it:"), BLANK, *told]
    else:
        lines.append(row("nothing", plan.reason))
    return lines
