"""What memory has on an action: decisions on a file before an edit, a command's working form, the fix of an error.

Each answer contains the decision, the command or the fix itself: agents don't follow a pointer to a session. Only equal
commands and errors count, so that nothing is embedded or ranked while an agent waits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Final

import trio

from memd.agents.agent import Agent
from memd.index.outside_words import find_outside_lines
from memd.index.transcripts import NO_FACTS, SessionFacts, load_session_facts
from memd.index.work import RAN, WorkRow, WorkScope, find_by_error, find_by_file, find_commands, load_steps
from memd.lifecycle.hooks.actions import Advice
from memd.lifecycle.hooks.decisions import MAX_DECISION_CHARS, gives_reason, sentences_in
from memd.lifecycle.hooks.injection import ShownLine
from memd.lifecycle.hooks.prompts import is_common
from memd.lifecycle.work.evidence import SessionPlaces
from memd.lifecycle.work.fix import Repair, find_repair, held, success_line
from memd.lifecycle.work.requests import Requests
from memd.programs.work import WorkLog
from memd.search.sessions import day_of
from memd.sources.projects import find_project, is_in_project
from memd.sources.work_rows import row_of
from memd.system.sqlite import Database
from memd.text.query.word_forms import fold
from memd.text.transcripts.injected import without_injected
from memd.text.work.commands import is_looking
from memd.text.work.errors import error_lines, normalize_error
from memd_client.hooks import HookParams

MAX_RUNS: Final = 300
"""Newest runs and failures that are compared."""

MAX_FAILURES: Final = 12
MAX_LATER_STEPS: Final = 100
"""Failures whose sessions are read, and the steps after a failure among which its success is looked for."""

MAX_CHANGES: Final = 4
"""Most changes between a failure and a success: of more, it isn't known which ones mattered."""

MAX_FILES: Final = 3
"""First files of a patch that are looked up."""

MAX_SESSIONS: Final = 5
"""Newest sessions that changed a file whose decisions are read."""

MAX_DECISIONS: Final = 2
MAX_SAID_CHARS: Final = 4_000
"""Decisions that are shown, and characters of a message that are read for them."""

MAX_COMMAND_CHARS: Final = 240
"""Longest command that is shown: a part of one, or a script on one line, is worse than none."""

MAX_ERROR_CHARS: Final = 100
MAX_SPAN_CHARS: Final = 60
LINE_END: Final = " ⏎ "

NARROWING: Final = frozenset(
    "-k -run --lf --last-failed --filter --grep --lib --bin --test --tests --only --exclude --skip --ignore --deselect"
    " --no-run --dry-run --collect-only --help --testNamePattern".split()
)
"""Options with which a command does less: that it succeeds with them repairs nothing."""

MIN_ERROR_LETTERS: Final = 8
"""Least letters of an error without its paths and values: of `src/main.tf` alone, nothing is left."""

_LETTER, _MASK = re.compile(r"[^\W\d_]"), re.compile(r"<\w+>")
_QUOTED = re.compile(r"""(?<!\w)(['"`‘“«])([^'"`’”»\n]{2,80})['"`’”»]""")


FORM_HEADING: Final = "The same command failed here before, quoted from a session; it may be outdated:"
FIX_HEADING: Final = "This error was fixed before, quoted from a session; it may be outdated:"


async def find_advice(memory: Sequence[Agent], params: HookParams) -> Advice | None:
    """Return what memory has on an action; None unless it is sure."""
    rows = [row for row in await trio.to_thread.run_sync(_rows_of, params) if row.action != "read"]
    for row in rows[:MAX_FILES]:
        is_command = row.action == RAN
        find = _fix_of if params.event != "before_tool" else _working_form if is_command else _decisions_on
        for agent in memory:
            advice = await agent.read_index(partial(find, agent=agent, row=row, params=params))
            if advice is not None:
                return advice
    return None


def _rows_of(params: HookParams) -> list[WorkRow]:
    """Return the steps of an action as they would be indexed."""
    log = WorkLog()
    log.folder = params.cwd
    log.call(params.tool, {"command": params.command, "file_path": params.file}, 0, call="hook", time_ms=None)
    if params.event != "before_tool":
        log.result("hook", "failed", params.error)
    return [row_of(step, params.cwd) for step in log.steps]


def _decisions_on(db: Database, agent: Agent, row: WorkRow, params: HookParams) -> Advice | None:
    """Return the newest decisions about a file, of the sessions that changed it."""
    sessions = defaultdict[str, list[WorkRow]](list)
    for step in find_by_file(db, [row.line], MAX_RUNS):
        is_change = step.action != "read" and step.status not in ("failed", "refused")
        if is_change and step.subject == row.subject:
            sessions[step.path].append(step)
    places, lines = SessionPlaces(agent, db, sessions), list[ShownLine]()
    others = (path for path in sessions if not _is_own(path, places.facts, params))
    for path in islice(others, MAX_SESSIONS):
        lines += _decided(db, places, path, sessions[path][::-1])
    heading = f"Decided earlier about {row.line}, quoted from a session; it may be outdated:"
    return Advice(heading, tuple(lines[:MAX_DECISIONS]), row.subject) if lines else None


def _decided(db: Database, places: SessionPlaces, path: str, steps: Sequence[WorkRow]) -> Iterator[ShownLine]:
    """Yield what one session decided about a file, with the steps on it: the newest first.

    A decision names the file, or it is a reason that the agent gave after the change and before the next request.
    """
    changes = [step for step in load_steps(db, path) if step.action not in (RAN, "read")]
    requests = Requests(db, path)
    decisions = requests.decisions(steps, changes)
    for step in steps:
        begin, end, _ = requests.at(step.place)
        is_alone = len({change.subject for change in changes if begin <= change.place < end}) < 2
        stem = fold(step.line.partition(".")[0])
        named = re.compile(rf"(?<!\w){re.escape(stem)}" if len(stem) > 4 and not is_common(stem) else r"(?!)")
        for place, speaker, answer in requests.lines:
            text = without_injected(answer)[:MAX_SAID_CHARS]
            is_about = is_alone or named.search(fold(text)) is not None
            if step.place < place < end and speaker == "Assistant" and is_about:
                decisions += _reasons_in(text)
    day, where = day_of(steps[-1].time_ms) if steps[-1].time_ms else "", places.of(steps[0])["citation"]
    for text in dict.fromkeys(decisions[::-1]):
        yield ShownLine(text, where, day, (text,))


def _reasons_in(text: str) -> Iterator[str]:
    """Yield the sentences of a message that give a reason, each after the one before it."""
    sentences = sentences_in(text)
    for number, sentence in enumerate(sentences):
        if gives_reason(sentence):
            both = " ".join(sentences[max(0, number - 1) : number + 1])
            yield both if len(both) <= MAX_DECISION_CHARS else sentence


def _working_form(db: Database, agent: Agent, row: WorkRow, params: HookParams) -> Advice | None:
    """Return the invocation that succeeded instead of a command that failed in this folder."""
    if not row.subject or is_looking(row.text):
        return None
    runs = find_commands(db, row.subject, MAX_RUNS)
    same = [run for run in runs if _invocation(run) == _invocation(row)]
    if any(run.status == "ok" for run in same):
        return None
    for repair in _repairs(db, [run for run in same if run.status == "failed"], params):
        success = repair.success
        runs = find_commands(db, success.subject, MAX_RUNS)
        last = next((run for run in runs if _invocation(run) == _invocation(success)), success)
        if last.status == "ok" and not (repair.is_same or _is_narrower(repair) or _edits(repair)):
            error = _cut(_error_of(repair.failure), MAX_ERROR_CHARS)
            failed = f"`{row.text}` failed here{f' with: {error}' if error else ''}"
            text = f"{failed}. This succeeded: `{success_line(repair)}`"
            return _advice(agent, db, repair, FORM_HEADING, text, row.line)
    return None


def _fix_of(db: Database, agent: Agent, row: WorkRow, params: HookParams) -> Advice | None:
    """Return what fixed the same error of the same program."""
    named = "".join(_LETTER.findall(_MASK.sub("", normalize_error(_error_of(row)))))
    if not row.error or len(named) < MIN_ERROR_LETTERS:
        return None
    scope = WorkScope(actions=(RAN,), except_session=params.session_id)
    program, value = row.subject.partition(" ")[0], max(_values(row), key=len, default="")
    failures = find_by_error(db, row.error, MAX_FAILURES, scope, containing=value) if value else []
    failures += find_by_error(db, row.error, MAX_FAILURES, scope)
    alike = [failure for failure in failures if failure.subject.partition(" ")[0] == program]
    repairs = [repair for repair in _repairs(db, alike, params) if len(repair.steps) <= MAX_CHANGES]
    facts = load_session_facts(db, {repair.failure.path for repair in repairs})
    project = find_project(params.cwd)
    for repair in repairs:
        is_here = bool(project) and is_in_project(facts[repair.failure.path].project, project)
        is_same = normalize_error(_error_of(repair.failure), exact=True) == normalize_error(
            _error_of(row), exact=True
        )
        if (is_here or (is_same and not _edits(repair))) and _is_about(repair, row):
            error = _cut(_error_of(repair.failure), MAX_ERROR_CHARS)
            return _advice(agent, db, repair, FIX_HEADING, f"{error}: {_told(repair)}", row.error)
    return None


def _repairs(db: Database, failures: Sequence[WorkRow], params: HookParams) -> Iterator[Repair]:
    """Yield what fixed some failures of other sessions and held to the end of the session, each success once."""
    successes = set[int]()
    facts = load_session_facts(db, {failure.path for failure in failures})
    others = (failure for failure in failures if not _is_own(failure.path, facts, params))
    for failure in islice(others, MAX_FAILURES):
        steps = load_steps(db, failure.path, failure.id, limit=MAX_LATER_STEPS)
        repair = find_repair(steps)
        if repair is None or repair.is_rerun or repair.success.id in successes:
            continue
        successes.add(repair.success.id)
        same = [step for step in steps if step.error == failure.error and _values(step) == _values(failure)]
        line = success_line(repair)
        parts = (repair.failure, *repair.steps, repair.success)
        if find_outside_lines(db, failure.path, "\n".join(f"{row.text}\n{row.detail}" for row in parts))[0]:
            continue
        if held(repair, same) and len(line) <= MAX_COMMAND_CHARS and "\n" not in line:
            yield repair


def _told(repair: Repair) -> str:
    """Return the changes of a repair and the command that succeeded."""
    parts = list[str]()
    for step in repair.steps:
        if step.action == RAN:
            parts.append(f"ran `{step.text}`")
        else:
            old, new = _changed(step.detail, step.text), _changed(step.text, step.detail)
            parts.append(f"{step.action} {step.subject}" + (f": `{old}` → `{new}`" if old or new else ""))
    return "; then ".join(filter(None, ["; ".join(parts), f"`{success_line(repair)}` succeeded"]))


def _changed(span: str, other: str) -> str:
    """Return the lines of a span that the other one lacks, on one line: joined without a mark, code would be wrong."""
    others = {line.strip() for line in other.split("\n")}
    lines = [line.strip() for line in span.split("\n") if line.strip() not in others]
    return _cut(LINE_END.join(filter(None, lines)), MAX_SPAN_CHARS)


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _advice(agent: Agent, db: Database, repair: Repair, heading: str, text: str, subject: str) -> Advice:
    where = SessionPlaces(agent, db, {repair.failure.path}).of(repair.failure, repair.success.place)
    about = day_of(repair.success.time_ms) if repair.success.time_ms else ""
    line = ShownLine(text, where["citation"], about, (text,), origin="program")
    return Advice(heading, (line,), subject)


def _edits(repair: Repair) -> list[WorkRow]:
    return [step for step in repair.steps if step.action != RAN]


def _invocation(row: WorkRow) -> tuple[str, str]:
    return " ".join(row.text.split()), row.folder


def _error_of(row: WorkRow) -> str:
    """Return the line of an output that its error's key is made from."""
    return next(iter(error_lines(row.detail, is_failed=True)), "")


def _values(row: WorkRow) -> frozenset[str]:
    """Return the quoted values in an error, which its key doesn't have: of a path, the name of the file."""
    return frozenset(value.rpartition("/")[2].casefold() for _, value in _QUOTED.findall(_error_of(row)))


def _is_about(repair: Repair, row: WorkRow) -> bool:
    """Return whether a fix is about an error: it names no quoted value that only the earlier error has."""
    remedy = " ".join([repair.success.text, *(f"{step.text} {step.subject}" for step in repair.steps)])
    return not any(value in remedy.casefold() for value in _values(repair.failure) - _values(row))


def _is_narrower(repair: Repair) -> bool:
    """Return whether a command that succeeded did only a part of the failed one."""
    tried, done = repair.failure.line.split()[1:], repair.success.line.split()[1:]
    new = [word for word in done if word not in tried]
    parts = (word for word in new for other in tried if word.startswith((f"{other}/", f"{other}::")))
    return any(parts) or not NARROWING.isdisjoint(word.partition("=")[0] for word in new)


def _is_own(path: str, facts: Mapping[str, SessionFacts], params: HookParams) -> bool:
    """Return whether a conversation is the session itself, or a subagent of it."""
    own = {params.session_id, PurePath(params.transcript_path).stem}
    return not own.isdisjoint([facts.get(path, NO_FACTS).session, *PurePath(path).with_suffix("").parts])
