"""What `memctl setup` prints: the plan, the changed files, the proofs and the answers. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from memd.cli.lines import BLANK, Line, count, line, size, span
from memd.cli.setup.ledger import TakenBack
from memd.cli.setup.plan import KINDS, ProgramPlan, SetupPlan, State
from memd.cli.setup.prove import Answer, Proof
from memd.programs.catalog import PROGRAMS
from memd.system.settings_change import SettingsChange

HEADS = ("program", "conversations", "notes", "size", "oldest", "newest", *KINDS)
WORDS: dict[State, str] = {"add": "add", "repair": "repair", "present": "present", "left": "not changed"}
LABEL_COLUMNS = 10
TEXT_CHARS = 110


def plan_rows(plan: SetupPlan) -> list[tuple[str, ...]]:
    """Return a row of the table for each program."""
    return [_row(program) for program in plan.programs]


def _row(program: ProgramPlan) -> tuple[str, ...]:
    states = [", ".join(WORDS[state] for state in program.states(kind)) or "-" for kind in KINDS]
    numbers = [f"{number:,}" if number else "-" for number in (program.conversations, program.notes)]
    days = [_day(moment) for moment in (program.oldest_ms, program.newest_ms)]
    return program.title, *numbers, size(program.bytes) if program.bytes else "-", *days, *states


def _day(moment_ms: int | None) -> str:
    return "-" if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y-%m-%d")


def plan_lines(plan: SetupPlan, changes: Sequence[SettingsChange]) -> Iterator[Line]:
    """Yield what a plan means: what is left and why, who can search what, and the files that will change."""
    reasons = [(step, program) for program in plan.programs for step in program.steps if step.reason]
    if reasons:
        yield BLANK
    for step, program in reasons:
        about = step.name if step.kind == "sources" else f"{program.title}, {step.kind}"
        yield line(f"{about}: ", step.reason, indent=2)
    if any(step.keeps for step in plan.steps("sources")):
        yield BLANK
        yield line(
            "Sources are read in place. memd retains copies of conversations that their program deletes."
        )
    for owner, (sources, readers) in plan.readers.items():
        titles = [f"agent {owner}", *readers]
        yield line(
            f"Agent {owner} gets {', '.join(sources)}. Their lines will be given to: {', '.join(titles)}."
        )
    if plan.readers:
        yield line("A program sends such lines to its model.")
    if changes:
        yield BLANK
        yield line(("files to change", "heads"))
    for change in changes:
        added = sum(text.startswith("+") for text in change.diff().splitlines()[2:])
        yield line(
            (short(str(change.path)), "path"), f"  +{added} {'lines' if added != 1 else 'line'}", indent=2
        )


def short(path: str) -> str:
    """Return a path with `~` for the home folder."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def changed_lines(changed: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Yield the changed files, each with its backup."""
    yield BLANK
    yield line(("changed files", "heads"))
    for path, backup in changed:
        yield line(
            (short(path), "path"), f"  backup: {short(backup)}" if backup else "  made by memd", indent=2
        )


def proof_lines(proofs: Iterable[Proof]) -> Iterator[Line]:
    """Yield how long hooks and MCP servers took."""
    yield BLANK
    yield line(("tried as the programs do", "heads"))
    for proof in proofs:
        state = (proof.fault, "bad") if proof.fault else (span(proof.took_ms), "good")
        yield line(f"{PROGRAMS[proof.program].title}, {proof.what}: ", state, indent=2)


def answer_lines(answers: Sequence[Answer]) -> Iterator[Line]:
    """Yield questions from the user's past with their answers."""
    if not answers:
        return
    yield BLANK
    yield line(("from your own history", "heads"))
    for answer in answers:
        text = answer.text if len(answer.text) <= TEXT_CHARS else f"{answer.text[: TEXT_CHARS - 1]}…"
        yield line((answer.question, "title"), indent=2)
        yield line(text, indent=4)
        titled = f"'{answer.title}', " if answer.title not in ("", answer.question) else ""
        yield line(
            (f"{answer.program}, {titled}{answer.date}  ", "quiet"), (answer.citation, "place"), indent=4
        )
    yield line("Ask one of these in another program: its agent can answer now.", indent=2)


def end_lines(has_openclaw: bool) -> Iterator[Line]:
    """Yield what happens from now on."""
    yield BLANK
    rows = (
        ("from now", "New conversations are indexed by themselves, and new sessions are given what matches."),
        ("see it", "memctl sources; memctl hooks log; memctl search --agent all 'your words'"),
        ("undo", "memctl setup --remove"),
    )
    for label, text in rows:
        yield line((f"{label:{LABEL_COLUMNS}}", "label"), text)
    if has_openclaw:
        yield BLANK
        yield line(
            "OpenClaw is installed here too. To give its agents memd's memory, run in client/openclaw-plugin:"
        )
        yield line("npm install --omit=dev", indent=2)
        yield line('openclaw plugins install "$PWD" --force --accept-capabilities', indent=2)


def taken_back_lines(files: Iterable[TakenBack]) -> Iterator[Line]:
    """Yield what became of the files that setup changed."""
    for file in files:
        state = "deleted" if file.is_gone else "as it was before, byte for byte"
        if file.is_kept:
            state = "left, because its text has changed since; delete it yourself"
        elif not file.is_restored and not file.is_gone:
            state = "changed by something else since, so only memd's entries were removed"
        yield line((short(file.path), "path"), f"  {state}", indent=2)
        for backup in file.backups:
            yield line(f"backup of its earlier text remains: {short(backup)}", indent=4)


def summary(sources: int, files: int) -> str:
    """Return how much was taken back."""
    return f"removed {count(sources, 'source')}; {count(files, 'file')}:"
