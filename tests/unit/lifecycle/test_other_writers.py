"""Facts and notes are written while another program writes to the same file: no line of either is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memd.lifecycle.facts.files import FactFiles
from memd.lifecycle.facts.lines import PATH, Fact, read
from memd.lifecycle.files.writing import append_part
from memd.settings.schema import DaemonSettings
from memd.sources.capacity import limits_of
from memd_client.errors import MemdError
from memd_client.facts import MemoryEditParams
from tests.support.foreign_writers import ForeignWriterProcess, Interval

LIMITS = limits_of(DaemonSettings())

OPERATIONS = 250
"""Writes of the other program into one file; then another file, so that reading it stays quick."""

NOTE = "memory/2026-11-24.md"

FORMATS = pytest.mark.parametrize(
    ("end", "begin"), [("\n", ""), ("\r\n", "\ufeff")], ids=["plain", "crlf-and-bom"]
)


@dataclass
class Written:
    """What memd acknowledged: texts that must be there, and those that must not, each with when it was asked for.

    `refused` counts calls that ended with an error.
    """

    there: dict[str, Interval] = field(default_factory=dict)
    gone: dict[str, Interval] = field(default_factory=dict)
    refused: int = 0


def _write_facts(root: Path, writer: int, seed: int, ended: Connection) -> None:
    """Store, edit and forget facts until the other program has ended, then send what was acknowledged."""
    chance, files, done = random.Random(seed), FactFiles(root, LIMITS), Written()
    number = 0
    while not ended.poll(chance.random() * 0.02):
        number += 1
        began = time.monotonic()
        name = f"fact {writer}x{number}"
        old = chance.choice(sorted(done.there)) if done.there else ""
        way = chance.choice(["store", "store", "edit", "forget"]) if old else "store"
        fact_id = old.replace(" ", "-")
        try:
            if way == "store":
                files.append(Fact(name.replace(" ", "-"), name))
            elif way == "edit":
                # The id stays; a fact's name says which it is.
                changed = f"{old} again" if not old.endswith("again") else old.removesuffix(" again")
                files.edit(MemoryEditParams(fact_id.removesuffix("-again"), changed))
            elif files.remove(fact_id.removesuffix("-again")) is None:
                way = "overwritten"
        except MemdError:
            done.refused += 1
            continue
        when = (began, time.monotonic())
        if way == "store":
            done.there[name] = when
        elif way == "forget":
            del done.there[old]
            done.gone[old] = when
        elif way == "edit":
            del done.there[old]
            done.gone[old] = when
            done.gone.pop(changed, None)
            done.there[changed] = when
    ended.recv()
    ended.send(done)


def _append_entries(root: Path, writer: int, seed: int, ended: Connection) -> None:
    """Append entries to a note until the other program has ended, then send what was acknowledged."""
    chance, done = random.Random(seed), Written()
    number = 0
    while not ended.poll(chance.random() * 0.01):
        number += 1
        text = f"fact {writer}x{number}"
        began = time.monotonic()
        try:
            append_part(root, NOTE, lambda _, __, text=text: f"\n- {text}\n", LIMITS)  # type: ignore[misc]
        except MemdError:
            done.refused += 1
            continue
        done.there[text] = (began, time.monotonic())
    ended.recv()
    ended.send(done)


def _lost(root: Path, path: str, work: object, seed: int, end: str, begin: str) -> dict[str, list[str]]:
    """Let memd and another program write to one file, and return what is missing, or there and should not be.

    A text of memd's is not counted when the other program held an older text of the file while memd wrote, and wrote
    that back after memd's answer: it would overwrite any program's lines.
    """
    note = root / path
    note.parent.mkdir(parents=True, exist_ok=True)
    slots = "".join(f"slot {number} ....{end}" for number in range(OPERATIONS))
    note.write_bytes(f"{begin}# Notes{end}{slots}".encode())
    other = ForeignWriterProcess(note, seed, OPERATIONS)
    pipes, processes = [], []
    fork = multiprocessing.get_context("fork")
    for writer in range(2):
        here, there = fork.Pipe()
        processes.append(fork.Process(target=work, args=(root, writer, 10 * seed + writer, there)))  # type: ignore[arg-type]
        pipes.append(here)
        processes[-1].start()
    other.begin()
    done = other.finish()
    for each in pipes:
        each.send("end")
    answers: list[Written] = [each.recv() for each in pipes]
    for process in processes:
        process.join(120)

    def is_excused(when: Interval) -> bool:
        return any(began < when[1] < ended for began, ended in done.rewrites)

    data = note.read_bytes()
    lines = data.decode().split("\n")
    bare = {line.rstrip("\r") for line in lines}
    texts = {fact.text for fact in read(data.decode())}
    kept = {text: when for each in answers for text, when in each.there.items()}
    gone = {text: when for each in answers for text, when in each.gone.items()}
    wrong = {text: when for text, when in kept.items() if text not in texts}
    wrong |= {text: when for text, when in gone.items() if text in texts}
    excused = [text for text, when in wrong.items() if is_excused(when)]
    print(
        f"{len(done.added) + len(done.filled)} writes of the other program, {len(kept)} + {len(gone)} of memd's, "
        f"{sum(each.refused for each in answers)} refused, {len(excused)} overwritten by an older text"
    )
    assert data.startswith(f"{begin}# Notes{end}".encode())
    assert kept
    return {
        "other": [line for line in done.added + done.filled if line not in bare],
        "ours": [text for text in wrong if text not in excused],
        "left": [name for name in os.listdir(note.parent) if name != note.name],
    }


NOTHING: dict[str, list[str]] = {"other": [], "ours": [], "left": []}


@FORMATS
def test_facts_and_another_program_lose_nothing_of_each_other(tmp_path: Path, end: str, begin: str) -> None:
    assert _lost(tmp_path, PATH, _write_facts, 1, end, begin) == NOTHING


@FORMATS
def test_notes_and_another_program_lose_nothing_of_each_other(tmp_path: Path, end: str, begin: str) -> None:
    assert _lost(tmp_path, NOTE, _append_entries, 2, end, begin) == NOTHING


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_ten_thousand_writes_of_another_program_lose_nothing(tmp_path: Path, seed: int) -> None:
    path, work = (NOTE, _append_entries) if seed % 4 == 0 else (PATH, _write_facts)
    assert _lost(tmp_path, path, work, 100 + seed, "\n", "") == NOTHING
