"""Random edits on several machines with one memory, and what must be true of the notes afterwards.

Every line has a word of its own. The storm knows for each word whether it was deleted on purpose; all others must be in
the notes of every machine in the end.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memd.lifecycle.files import writing
from memd_client.errors import MemdError
from tests.support.machines import MemoryMachine

WORD = re.compile(r"w\d+x\b")

DAYS = 6
NOTES = 12


@dataclass
class StormLog:
    """The words written, those that may be gone, and the texts that each fact was given."""

    written: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    facts: dict[str, set[str]] = field(default_factory=dict)
    edits: int = 0
    answers: int = 0


class ReplicationStorm:
    """A source of random edits.

    Args:
        made: The machines.
        seed: Of the random numbers.
    """

    def __init__(self, made: list[MemoryMachine], seed: int) -> None:
        self.log = StormLog()
        self._machines = made
        self._random = random.Random(seed)
        self._numbers = itertools.count(1)
        self.away: dict[MemoryMachine, Path] = {}
        """The missing folder of each machine that has one. It gets no edits."""
        self._actions: list[tuple[int, Callable[[MemoryMachine], None]]] = [
            (40, self._append_to_day),
            (14, self._append_to_note),
            (14, self._edit_note),
            (6, self._edit_curated),
            (4, self._rename),
            (3, self._delete),
            (10, self._store_fact),
            (5, self._edit_fact),
            (4, self._forget_fact),
        ]

    def edit(self, count: int) -> None:
        """Make random edits on random machines."""
        weights = [weight for weight, _ in self._actions]
        for _ in range(count):
            machine = self._random.choice([each for each in self._machines if each not in self.away])
            [(_, action)] = self._random.choices(self._actions, weights)
            # A full disk or a daemon that is down refuses an edit: then nothing was written.
            with contextlib.suppress(OSError, MemdError):
                action(machine)
            self.log.edits += 1

    def pause(self, most_s: float) -> None:
        """Let the daemons work for a random time."""
        time.sleep(self._random.uniform(0, most_s))

    def answer(self) -> bool:
        """Answer the questions of machines that have no missing folder; return whether there was any."""
        is_asked = False
        for machine in self._machines:
            with contextlib.suppress(OSError, MemdError):
                if machine not in self.away and machine.status().state == "held":
                    is_asked = True
                    machine.remote("resume", missing=self._random.choice(["delete", "restore"]))
                    self.log.answers += 1
        return is_asked

    def missing(self, machine: MemoryMachine) -> set[str]:
        """Return words that a machine should have and has not."""
        text = "\n".join(data.decode() for data in machine.files().values())
        return self.log.written - self.log.deleted - set(WORD.findall(text))

    # --- edits ----------------------------------------------------------------------------------------

    def _word(self) -> str:
        return f"w{next(self._numbers)}x"

    def _append_to_day(self, machine: MemoryMachine) -> None:
        day = self._random.randrange(DAYS)
        hour, minute = self._random.randrange(24), self._random.randrange(60)
        self._append(machine, f"memory/2026-05-{day + 1:02}.md", f"- {hour:02}:{minute:02} {{}} happened\n")

    def _append_to_note(self, machine: MemoryMachine) -> None:
        note = self._random.randrange(NOTES)
        self._append(machine, f"memory/topics/topic-{note}.md", "\nA paragraph about {} and more.\n")

    def _append(self, machine: MemoryMachine, path: str, text: str) -> None:
        """Append in one write, as agents do, without a lock."""
        word = self._word()
        location = machine.workspace / path
        location.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(location, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        data = text.format(word).encode()
        try:
            done = os.write(handle, data)
        finally:
            os.close(handle)
        if done == len(data):  # else the disk is full
            self.log.written.add(word)

    def _some_note(self, machine: MemoryMachine) -> str | None:
        paths = sorted((machine.workspace / "memory" / "topics").glob("*.md"))
        return str(self._random.choice(paths).relative_to(machine.workspace)) if paths else None

    def _edit_note(self, machine: MemoryMachine) -> None:
        if (path := self._some_note(machine)) is not None:
            self._replace_line(machine, path, "Changed to {} in place.")

    def _edit_curated(self, machine: MemoryMachine) -> None:
        self._replace_line(machine, self._random.choice(["MEMORY.md", "USER.md"]), "- curated {}")

    def _replace_line(self, machine: MemoryMachine, path: str, text: str) -> None:
        """Replace a line of a note, or add one; the words of the replaced line may be gone."""
        word = self._word()
        gone: list[str] = []

        def edit(held: str) -> str:
            gone.clear()
            lines = held.split("\n")
            at = self._random.randrange(len(lines))
            if WORD.search(lines[at]) and len(lines) > 6:
                gone.extend(WORD.findall(lines[at]))
                lines[at] = text.format(word)
            else:
                lines.insert(at, text.format(word))
            return "\n".join(lines)

        # Before the write: another machine may take the line away as soon as it is written.
        self.log.written.add(word)
        try:
            writing.change(machine.workspace, path, edit)
        except BaseException:
            self.log.deleted.add(word)
            raise
        finally:
            self.log.deleted.update(gone)

    def _rename(self, machine: MemoryMachine) -> None:
        path = self._some_note(machine)
        if path is None:
            return
        new = f"memory/topics/topic-{self._random.randrange(NOTES)}-{self._random.randrange(9)}.md"
        if not (machine.workspace / new).exists():
            os.rename(machine.workspace / path, machine.workspace / new)

    def _delete(self, machine: MemoryMachine) -> None:
        path = self._some_note(machine)
        if path is None:
            return

        def is_expected(held: str) -> bool:
            self.log.deleted.update(WORD.findall(held))
            return True

        writing.remove(machine.workspace, path, is_expected)

    # --- facts ----------------------------------------------------------------------------------------

    def _store_fact(self, machine: MemoryMachine) -> None:
        word = self._word()
        with machine.daemon.client(timeout_s=10) as client:
            stored = client.memory_store(f"The code of door {word} is blue")
        self.log.facts.setdefault(stored.id, set()).add(word)
        self.log.written.add(word)

    def _edit_fact(self, machine: MemoryMachine) -> None:
        fact_id = self._some_fact()
        if fact_id is None:
            return
        word = self._word()
        with machine.daemon.client(timeout_s=10) as client:
            client.memory_edit(fact_id, f"The code of door {word} is red")
        self.log.deleted.update(self.log.facts[fact_id])
        self.log.facts[fact_id].add(word)

    def _forget_fact(self, machine: MemoryMachine) -> None:
        fact_id = self._some_fact()
        if fact_id is None:
            return
        with machine.daemon.client(timeout_s=10) as client:
            client.memory_forget(id=fact_id)
        self.log.deleted.update(self.log.facts[fact_id])

    def _some_fact(self) -> str | None:
        return self._random.choice(sorted(self.log.facts)) if self.log.facts else None


def leftovers(directory: Path) -> list[str]:
    """Return locks and unfinished files in a git directory."""
    return [
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if (path.name.endswith(".lock") and path.name != "memd.lock") or path.name.startswith("tmp_")
    ]
