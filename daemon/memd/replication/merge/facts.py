"""Merge of facts by id: the newest change of a fact is used, and a deletion is a change. Pure.

The ledger, a file of the repository, has the times of changes: a deletion leaves a trace, and an edit by hand has a
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.lines import Fact, normal_form
from memd.text.three_way import join_lines, split_lines, with_line_ends

FACTS = re.compile(r"memory/facts(?:-[1-9][0-9]{0,2})?\.md")
"""Paths of the files with facts."""

MAX_LEDGER_ENTRIES = 20_000
"""Changes that the ledger keeps; the oldest are dropped."""

MAX_TIME_MS = 10**15 - 1
"""The last time that a ledger can have."""

_TIME = re.compile(r"[0-9]{1,15}")


class FactChange(NamedTuple):
    """When a fact was last changed, in epoch milliseconds, and whether that was its deletion."""

    at_ms: int
    is_deleted: bool


Ledger = Mapping[str, FactChange]
"""The last change of each fact by its id."""


class _Entry(NamedTuple):
    """A fact with its path and its line as it is written."""

    path: str
    line: str
    fact: Fact


def is_facts_path(path: str) -> bool:
    """Return whether a file has facts."""
    return FACTS.fullmatch(path) is not None


def read_ledger(text: str) -> dict[str, FactChange]:
    """Return the changes in a ledger; invalid lines are ignored."""
    ledger: dict[str, FactChange] = {}
    for line in text.splitlines():
        fact_id, _, rest = line.partition("\t")
        at, _, state = rest.partition("\t")
        if fact_lines.ID_LETTERS.fullmatch(fact_id) and _TIME.fullmatch(at) and state in ("set", "deleted"):
            ledger[fact_id] = FactChange(int(at), state == "deleted")
    return ledger


def write_ledger(ledger: Ledger) -> str:
    """Return a ledger as text, one line for each fact."""
    kept = sorted(ledger, key=lambda fact_id: (ledger[fact_id].at_ms, fact_id))[-MAX_LEDGER_ENTRIES:]
    return "".join(
        f"{fact_id}\t{ledger[fact_id].at_ms}\t{'deleted' if ledger[fact_id].is_deleted else 'set'}\n"
        for fact_id in sorted(kept)
    )


def merge_ledgers(one: Ledger, other: Ledger) -> dict[str, FactChange]:
    """Return the newest change of each fact."""
    merged = dict(one)
    for fact_id, change in other.items():
        known = merged.get(fact_id)
        # Of a deletion and an edit at one time the edit is used, as in the files.
        if known is None or (change.at_ms, not change.is_deleted) > (known.at_ms, not known.is_deleted):
            merged[fact_id] = change
    return merged


def note_changes(
    ledger: Ledger, before: Mapping[str, str], after: Mapping[str, str], now_ms: int
) -> dict[str, FactChange]:
    """Return a ledger with the changes between two states of the files with facts (texts by path)."""
    old, new = _entries(before), _entries(after)
    changed = dict(ledger)
    for fact_id in {*old, *new}:
        earlier, later, known = old.get(fact_id), new.get(fact_id), ledger.get(fact_id)
        # A change is later than the one it changes, whatever the clock of that machine said.
        at_ms = now_ms if known is None else min(MAX_TIME_MS, max(now_ms, known.at_ms + 1))
        if later is None:
            changed[fact_id] = FactChange(at_ms, is_deleted=True)
        elif earlier is None or earlier.line != later.line:
            created_ms = later.fact.created_ms if earlier is None and known is None else None
            changed[fact_id] = FactChange(at_ms if created_ms is None else created_ms, is_deleted=False)
    return changed


def merge_facts(
    base: Mapping[str, str],
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
    our_ledger: Ledger,
    their_ledger: Ledger,
) -> dict[str, str]:
    """Return the merged files with facts.

    Args:
        base: Texts by path of the version both sides come from.
        ours: Our texts; lines that are no facts stay as they are there.
        theirs: The other side's texts.
        our_ledger: Our changes.
        their_ledger: The other side's changes.
    """
    mine, others = _entries(ours), _entries(theirs)
    wanted = _wanted(_entries(base), mine, others, our_ledger, their_ledger)
    merged: dict[str, str] = {}
    placed: set[str] = set()
    for path in sorted({*ours, *theirs}, key=_part_order):
        lines: list[str] = []
        # A side that lacks a part does not count as one that emptied it.
        text, entries = (ours[path], mine) if path in ours else (theirs[path], others)
        ids = _ids_by_line(entries, path)
        for number, line in enumerate(split_lines(text), 1):
            fact_id = ids.get(number)
            if fact_id is None:
                lines.append(line)
            elif fact_id in wanted and fact_id not in placed:
                lines.append(wanted[fact_id].line)
                placed.add(fact_id)
        lines += _prose_added(base.get(path, ""), lines, theirs.get(path, ""), _ids_by_line(others, path))
        for fact_id, entry in wanted.items():
            if fact_id not in placed and entry.path == path:
                lines.append(entry.line)
                placed.add(fact_id)
        merged[path] = with_line_ends(join_lines(lines), text)
    return merged


def _wanted(
    before: Mapping[str, _Entry],
    mine: Mapping[str, _Entry],
    others: Mapping[str, _Entry],
    our_ledger: Ledger,
    their_ledger: Ledger,
) -> dict[str, _Entry]:
    """Return the facts of the merged files by id, ours first."""
    wanted: dict[str, _Entry] = {}
    for fact_id in [*mine, *(each for each in others if each not in mine)]:
        was, our, their = (side.get(fact_id) for side in (before, mine, others))
        ours_changed, theirs_changed = _differs(our, was), _differs(their, was)
        if theirs_changed and ours_changed:
            is_theirs = _order(their, their_ledger.get(fact_id)) > _order(our, our_ledger.get(fact_id))
        elif was is None and theirs_changed and our is None:  # perhaps deleted before the base
            is_theirs = _order(their, their_ledger.get(fact_id)) > _order(None, our_ledger.get(fact_id))
        elif was is None and ours_changed and their is None:
            is_theirs = _order(None, their_ledger.get(fact_id)) > _order(our, our_ledger.get(fact_id))
        else:
            is_theirs = theirs_changed
        entry = their if is_theirs else our
        if entry is not None:
            wanted[fact_id] = entry
    return _without_twins(wanted, before)


def _differs(entry: _Entry | None, was: _Entry | None) -> bool:
    return (None if entry is None else entry.line) != (None if was is None else was.line)


def _order(entry: _Entry | None, change: FactChange | None) -> tuple[int, str]:
    """Return the sort key of a version: the time of its change, then its line."""
    if change is not None and change.is_deleted == (entry is None):
        return change.at_ms, "" if entry is None else entry.line
    if entry is None:
        return -1, ""
    return entry.fact.created_ms or 0, entry.line


def _without_twins(wanted: Mapping[str, _Entry], before: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Return facts without a new one that has the same words as another: the older id stays."""
    first: dict[str, str] = {}
    for fact_id in sorted(wanted, key=lambda each: (each not in before, each)):
        first.setdefault(normal_form(wanted[fact_id].fact.text), fact_id)
    return {
        fact_id: entry
        for fact_id, entry in wanted.items()
        if fact_id in before or first[normal_form(entry.fact.text)] == fact_id
    }


def _entries(files: Mapping[str, str]) -> dict[str, _Entry]:
    """Return the facts of some files by id, in the order of the files' parts."""
    entries: dict[str, _Entry] = {}
    for path in sorted(files, key=_part_order):
        lines = files[path].split("\n")
        for fact in fact_lines.read(files[path], path, tuple(entries)):
            entries[fact.id] = _Entry(path, lines[fact.line - 1].removesuffix("\r"), fact)
    return entries


def _ids_by_line(entries: Mapping[str, _Entry], path: str) -> dict[int, str]:
    """Return the ids of one file's facts by line number."""
    return {entry.fact.line: fact_id for fact_id, entry in entries.items() if entry.path == path}


def _prose_added(base: str, lines: Iterable[str], theirs: str, ids: Mapping[int, str]) -> list[str]:
    """Return lines of the other side that are no facts and that the base and the merged file lack."""
    known = {*split_lines(base), *lines}
    return [
        line
        for number, line in enumerate(split_lines(theirs), 1)
        if number not in ids and line.strip() and line not in known
    ]


def _part_order(path: str) -> tuple[int, str]:
    """Return the sort key of the parts of a note: `facts.md` before `facts-2.md`."""
    return len(path), path
