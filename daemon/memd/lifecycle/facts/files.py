"""The files an agent's facts stand in: `memory/facts.md`, and `facts-2.md` and so on when one is full. Blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.edit import Edited, edit_fact
from memd.lifecycle.facts.lines import PATH, Fact, normal_form
from memd.lifecycle.files import writing
from memd.lifecycle.notes.parts import append_part, find_parts
from memd.sync.disk.capacity import SourceLimits, find_room
from memd_client.errors import NoteUnwritableError
from memd_client.facts import MemoryEditParams

Edit = Callable[[str, Sequence[Fact]], str]
"""Takes what a part holds and the facts of the other parts; returns what it shall hold."""


class FactFiles:
    """The facts of one workspace, all parts as one.

    Every call raises what `memd.lifecycle.files.writing` raises.
    """

    def __init__(self, root: Path, limits: SourceLimits) -> None:
        self._root = root
        self._limits = limits

    def load(self, without: str = "") -> list[Fact]:
        """Return all facts in their order, those of one part left out."""
        facts: list[Fact] = []
        for path in find_parts(self._root, [PATH]) or [PATH]:
            text = writing.read(self._root, path, self._limits.file_bytes, cut=True) or ""
            facts += fact_lines.read(text, path, [fact.id for fact in facts])
        return [fact for fact in facts if fact.path != without]

    def append(self, fact: Fact) -> tuple[Fact, bool]:
        """Append a fact's line, unless a fact with its id or its words is there by now."""
        twin: list[Fact] = []
        form = normal_form(fact.text)

        def make(path: str, held: str) -> str:
            facts = self.load(path)
            taken = [each.id for each in facts]
            twin[:] = [
                each
                for each in (*facts, *fact_lines.read(held, path, taken))
                if each.id == fact.id or normal_form(each.text) == form
            ]
            if twin:
                return ""
            return fact_lines.write(fact) if held.strip() else fact_lines.TITLE + fact_lines.write(fact)

        written = append_part(self._root, PATH, make, self._limits)
        return (twin[0], False) if twin else (replace(fact, line=written.end_line, path=written.path), True)

    def edit(self, params: MemoryEditParams) -> tuple[Edited, bool]:
        """Let a fact say something else; return what became of it, and whether its file was changed."""
        made: list[Edited] = []
        path = self._path_of(params.id)

        def edit(held: str) -> str:
            made[:] = [edit_fact(held, params, path, self.load(path))]
            self._require_room(path, held, made[0].markdown)
            return made[0].markdown

        if path not in find_parts(self._root, [PATH]):  # no folder comes about by editing
            edit("")
        changed = writing.change(self._root, path, edit)
        return made[0], changed

    def remove(self, fact_id: str) -> Fact | None:
        """Take a fact's line out of its file and return the fact; None when it isn't there."""
        path = self._path_of(fact_id)
        gone: list[Fact] = []

        def edit(held: str) -> str:
            taken = [each.id for each in self.load(path) if each.position < (len(path), path, 0)]
            gone[:] = [each for each in fact_lines.read(held, path, taken) if each.id == fact_id]
            return fact_lines.without(held, fact_id, taken)

        # A workspace without facts is left as it is: no folder comes about by forgetting.
        is_there = path in find_parts(self._root, [PATH])
        changed = is_there and writing.change(self._root, path, edit)
        return gone[0] if changed and gone else None

    def _require_room(self, path: str, held: str, text: str) -> None:
        """Raise when a file would have grown beyond what is indexed."""
        size, added = len(text.encode()), len(text.encode()) - len(held.encode())
        if added <= 0:
            return
        if size > self._limits.file_bytes:
            raise NoteUnwritableError(
                f"{path} is full",
                hint="Nothing was changed. Forget the fact and store it again: it goes into the next file.",
                data={"path": path},
            )
        find_room(self._root, self._limits).require(path, added, is_new=False)

    def _path_of(self, fact_id: str) -> str:
        """Return the part a fact stands in; the first one when it isn't there."""
        return next((fact.path for fact in self.load() if fact.id == fact_id), PATH)
