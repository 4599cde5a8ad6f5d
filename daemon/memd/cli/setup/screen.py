"""What `memctl setup` prints: the plan, the changed files, the proofs and the answers. Pure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from memd.cli.lines import BLANK, Line, count, line, size, span
from memd.cli.setup.ledger import TakenBack
from memd.cli.setup.plan import KINDS, ProgramPlan, SetupPlan
from memd.cli.setup.prove import Answer, Proof
from memd.programs.catalog import HOOKS, MCP_CLIENTS, PROGRAMS
from memd.system.settings_change import SettingsChange

HEADS = ("program", "conversations", "notes", "size", "oldest", "newest", *KINDS)
TEXT_CHARS = 110

FROM_NOW = """\
from now  New conversations are indexed by themselves, and sessions are given what matches.
see it    memctl sources; memctl hooks log; memctl search --agent all 'your words'
undo      memctl setup --remove
"""
OPENCLAW = """
OpenClaw is on this machine too. If its agents don't use memd yet, run in client/openclaw-plugin:
  npm install --omit=dev
  openclaw plugins install "$PWD" --force --accept-capabilities
"""


def plan_row(program: ProgramPlan) -> tuple[str, ...]:
    """Return a program's row of the table."""
    numbers = [f"{number:,}" if number else "-" for number in (program.conversations, program.notes)]
    days = [
        "-" if moment is None else datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d")
        for moment in (program.oldest_ms, program.newest_ms)
    ]
    states = [
        ", ".join(dict.fromkeys(step.state for step in program.steps if step.kind == kind)) or "-"
        for kind in KINDS
    ]
    return program.title, *numbers, size(program.bytes) if program.bytes else "-", *days, *states


def plan_lines(plan: SetupPlan, changes: Sequence[SettingsChange]) -> Iterator[Line]:
    """Yield what a plan means: what is left and why, who can search what, and the files that will change."""
    yield BLANK
    for step in plan.steps():
        if step.reason:
            about = step.name if step.kind == "sources" else f"{PROGRAMS[step.name].title}, {step.kind}"
            yield line(f"{about}: {step.reason}", indent=2)
    if any(step.keeps for step in plan.steps()):
        yield line(
            "Sources are read in place. memd retains copies of conversations that their program deletes."
        )
    for owner, (sources, readers) in plan.agents.items():
        titles = ", ".join([f"agent {owner}", *readers])
        yield line(f"Agent {owner} has {', '.join(sources)}. Their lines will be given to: {titles}.")
    if plan.agents:
        yield line("A program sends such lines to its model.")
    if changes:
        yield BLANK
        yield line(("files to change", "heads"))
    added = Counter[str]()  # hooks and servers may be in one file
    for change in changes:
        added[short(change.path)] += sum(text.startswith("+") for text in change.diff().splitlines()[2:])
    for path, number in added.items():
        yield line((path, "path"), f"  +{count(number, 'line')}", indent=2)


def short(path: str | os.PathLike[str]) -> str:
    """Return a path with `~` for the home folder."""
    name, home = os.fspath(path), os.path.expanduser("~/")
    return f"~/{name.removeprefix(home)}" if name.startswith(home) else name


def done_lines(
    changed: Iterable[tuple[str, str]], proofs: Iterable[Proof], answers: Iterable[Answer]
) -> Iterator[Line]:
    """Yield the changed files with their backups, how long hooks and MCP servers took, and answers from the past."""
    backups = dict(
        reversed([*changed])
    )  # of several changes of a file, the first has the backup of its beginning
    for at, (path, backup) in enumerate(reversed(backups.items())):
        yield from (BLANK, line(("changed files", "heads"))) if at == 0 else ()
        yield line(
            (short(path), "path"), f"  backup: {short(backup)}" if backup else "  made by memd", indent=2
        )
    for at, proof in enumerate(proofs):
        yield from (BLANK, line(("tried as the programs do", "heads"))) if at == 0 else ()
        state = (proof.fault, "bad") if proof.fault else (span(proof.took_ms), "good")
        what = "hook" if proof.kind == "hooks" else "MCP search"
        yield line(f"{PROGRAMS[proof.program].title}, {what}: ", state, indent=2)
    for at, answer in enumerate(answers):
        yield from (
            (BLANK, line(("from your own history: ask one of these in another program", "heads")))
            if at == 0
            else ()
        )
        text = answer.text if len(answer.text) <= TEXT_CHARS else f"{answer.text[: TEXT_CHARS - 1]}…"
        titled = f"'{answer.title}', " if answer.title else ""
        about = f"{answer.program}, {titled}{answer.date}  "
        yield line((answer.question, "title"), indent=2)
        yield line(text, indent=4)
        yield line((about, "quiet"), (answer.citation, "place"), indent=4)


def next_lines(plan: SetupPlan) -> Iterator[Line]:
    """Yield what the user has to do in a program before it uses what was installed."""
    steps = [step for step in (*plan.steps("mcp"), *plan.steps("hooks")) if step.is_done]
    for name, kind in {step.name: step.kind for step in steps}.items():
        form = HOOKS[name] if kind == "hooks" else MCP_CLIENTS[name]
        yield line(f"{PROGRAMS[name].title}: {form.next_step}", indent=2)
    yield from [BLANK] if steps else ()


def taken_back_lines(files: Iterable[TakenBack]) -> Iterator[Line]:
    """Yield what became of the files that setup changed."""
    for file in files:
        yield line((short(file.path), "path"), f"  {file.state}", indent=2)
        for backup in file.backups:
            yield line(f"a backup of its earlier text remains: {short(backup)}", indent=4)
