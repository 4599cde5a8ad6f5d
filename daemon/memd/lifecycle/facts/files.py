"""The files of an agent's facts: `memory/facts.md`, and `facts-2.md` and so on when one is full. Blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.lines import PATH, Fact, normal_form, one_line
from memd.lifecycle.files import writing
from memd.lifecycle.files.writing import append_part, find_parts
from memd.sources.capacity import SourceLimits, find_capacity
from memd.text.forgotten import NOTHING_FORGOTTEN, Forgotten
from memd_client.errors import FactChangedError, FactMissingError, NoteUnwritableError
from memd_client.facts import MemoryEditParams

_LEAD = re.compile(r"[ \t]*[-*+][ \t]+")


class FactEdit(Struct, frozen=True):
    """The result of an edit: the file's Markdown, the edited fact, and its duplicate if there is one.

    If there is a duplicate, the Markdown is unchanged.
    """

    markdown: str
    fact: Fact
    twin: Fact | None = None


def edit_fact(
    markdown: str, params: MemoryEditParams, path: str = fact_lines.PATH, others: Sequence[Fact] = ()
) -> FactEdit:
    """Return a file with one fact edited.

    The values of its comment stay, unless others are given. A line without a comment stays without one, and the fact's
    id changes, because it is derived from the text.
    """
    taken = tuple(each.id for each in others if each.position < (len(path), path, 0))
    facts = fact_lines.read(markdown, path, taken)
    found = next((each for each in facts if each.id == params.id), None)
    if found is None:
        raise FactMissingError(f"there is no fact {params.id[:64]!r}", data={"id": params.id[:64]})
    if params.expected_text is not None and one_line(params.expected_text) != found.text:
        raise FactChangedError(f"the text of fact {found.id} has changed", data={"id": found.id})
    text = one_line(params.text)
    form = normal_form(text)
    twin = next(
        (each for each in (*facts, *others) if each is not found and normal_form(each.text) == form), None
    )
    if twin is not None:
        return FactEdit(markdown, found, twin)
    wanted = replace(
        found,
        text=text,
        importance=found.importance if params.importance is None else params.importance,
        named_category=params.category or found.named_category,
    )
    if wanted == found:
        return FactEdit(markdown, found)
    lines = markdown.split("\n")
    lines[found.line - 1] = _written(lines[found.line - 1], found, wanted)
    changed = "\n".join(lines)
    fact = next(each for each in fact_lines.read(changed, path, taken) if each.line == found.line)
    return FactEdit(changed, fact)


def _written(line: str, found: Fact, wanted: Fact) -> str:
    """Return a fact's new line, with its present bullet and line ending."""
    lead = _LEAD.match(line)
    end = "\r" if line.endswith("\r") else ""
    plain = not fact_lines.has_comment(line) and (found.importance, found.category) == (
        wanted.importance,
        wanted.category,
    )
    body = fact_lines.write(wanted, plain=plain).removeprefix("- ").removesuffix("\n")
    return f"{'- ' if lead is None else lead[0]}{body}{end}"


class FactFiles:
    """The facts of one workspace, in all parts of its file.

    Every call raises the errors of `memd.lifecycle.files.writing`. Facts that were forgotten are skipped.
    """

    def __init__(
        self, root: Path, limits: SourceLimits, forgotten: Callable[[], Forgotten] = lambda: NOTHING_FORGOTTEN
    ) -> None:
        self._root = root
        self._limits = limits
        self._forgotten = forgotten

    def load(self, without: str = "") -> list[Fact]:
        """Return all facts in order, without those of one part."""
        facts: list[Fact] = []
        for path in find_parts(self._root, [PATH]) or [PATH]:
            text = writing.read(self._root, path, self._limits.file_bytes, cut=True) or ""
            read = fact_lines.read(text, path, tuple(fact.id for fact in facts))
            forgotten = self._forgotten()
            facts += [fact for fact in read if not forgotten.has(fact.text)] if forgotten.has(text) else read
        return [fact for fact in facts if fact.path != without] if without else facts

    def append(self, fact: Fact) -> tuple[Fact, bool]:
        """Append a fact's line, unless a fact with its id or its words exists by now."""
        twin: list[Fact] = []
        form = normal_form(fact.text)

        def make(path: str, held: str) -> str:
            facts = self.load(path)
            taken = tuple(each.id for each in facts)
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

    def edit(self, params: MemoryEditParams) -> tuple[FactEdit, bool]:
        """Edit a fact; return the result, and whether its file was changed."""
        made: list[FactEdit] = []
        path = self._path_of(params.id)

        def edit(held: str) -> str:
            made[:] = [edit_fact(held, params, path, self.load(path))]
            self._require_room(path, held, made[0].markdown)
            return made[0].markdown

        if path not in find_parts(self._root, [PATH]):  # editing must not create the folder
            edit("")
        changed = writing.change(self._root, path, edit)
        return made[0], changed

    def remove(self, fact_id: str) -> Fact | None:
        """Remove a fact's line from its file and return the fact; None if it isn't there."""
        path = self._path_of(fact_id)
        gone: list[Fact] = []

        def edit(held: str) -> str:
            taken = tuple(each.id for each in self.load(path) if each.position < (len(path), path, 0))
            gone[:] = [each for each in fact_lines.read(held, path, taken) if each.id == fact_id]
            return fact_lines.without(held, fact_id, path, taken)

        # A workspace without facts stays unchanged: forgetting must not create the folder.
        is_there = path in find_parts(self._root, [PATH])
        changed = is_there and writing.change(self._root, path, edit)
        return gone[0] if changed and gone else None

    def _require_room(self, path: str, held: str, text: str) -> None:
        """Raise if a file would exceed the limits of indexed files."""
        size, added = len(text.encode()), len(text.encode()) - len(held.encode())
        if added <= 0:
            return
        if size > self._limits.file_bytes:
            raise NoteUnwritableError(
                f"{path} is full",
                hint="forget the fact and store it again: it goes into the next file; nothing was changed",
                data={"path": path},
            )
        find_capacity(self._root, self._limits).require(path, added, is_new=False)

    def _path_of(self, fact_id: str) -> str:
        """Return the part that contains a fact; the first one if none does."""
        return next((fact.path for fact in self.load() if fact.id == fact_id), PATH)
