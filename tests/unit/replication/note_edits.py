"""Notes as lists of blocks, and random edits of them by two machines, for properties of merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st

FENCE = "```"

KINDS = ("item", "item", "entry", "paragraph", "paragraph", "code", "heading")
"""Kinds of blocks, frequent ones more than once."""

EDITS = ("append", "append", "insert", "insert", "delete", "edit")

MAX_BLOCKS = 6


@dataclass(frozen=True, slots=True)
class NoteBlock:
    """Lines that belong together. Each line has the number of its block, and is unique."""

    kind: str
    lines: tuple[str, ...]

    @property
    def editable(self) -> range:
        """The positions of lines with text."""
        return range(1, len(self.lines) - 1) if self.kind == "code" else range(len(self.lines))


@dataclass(frozen=True, slots=True)
class EditedNote:
    """A note, and what two machines made of it."""

    base: str
    ours: str
    theirs: str


def render(blocks: Sequence[NoteBlock]) -> str:
    """Return blocks as Markdown: a blank line between blocks, none between list items."""
    lines: list[str] = []
    for at, block in enumerate(blocks):
        is_item = block.kind in ("item", "entry")
        if at and not (is_item and blocks[at - 1].kind in ("item", "entry")):
            lines.append("")
        lines += block.lines
    return "".join(f"{line}\n" for line in lines)


def block_of(line: str) -> str:
    """Return the number of the block of a line."""
    return next((word for word in line.split() if word.startswith("block")), "")


@st.composite
def edited_notes(draw: st.DrawFn, edits: Sequence[str] = EDITS) -> EditedNote:
    """Return a note with edits of two machines."""
    numbers = count(1)
    base = [_draw_block(draw, numbers) for _ in range(draw(st.integers(0, MAX_BLOCKS)))]
    ours, theirs = (_draw_edits(draw, base, numbers, edits) for _ in range(2))
    return EditedNote(render(base), render(ours), render(theirs))


def _draw_block(draw: st.DrawFn, numbers: count[int]) -> NoteBlock:
    kind = draw(st.sampled_from(KINDS))
    name = f"block{next(numbers)}"
    more = [f"{name} line{number}" for number in range(draw(st.integers(1, 3)))]
    if kind == "item":
        return NoteBlock(kind, (f"- {name}", *(f"  {line}" for line in more[1:])))
    if kind == "entry":
        hour, minute = draw(st.integers(0, 23)), draw(st.integers(0, 59))
        return NoteBlock(kind, (f"- {hour:02}:{minute:02} {name}",))
    if kind == "heading":
        return NoteBlock(kind, (f"## {name}",))
    return NoteBlock(kind, (FENCE, *more, FENCE) if kind == "code" else tuple(more))


def _draw_edits(
    draw: st.DrawFn, base: Sequence[NoteBlock], numbers: count[int], edits: Sequence[str]
) -> list[NoteBlock]:
    blocks = list(base)
    for edit in draw(st.lists(st.sampled_from(edits), max_size=4)):
        at = draw(st.integers(0, len(blocks)))
        if edit in ("append", "insert"):
            blocks.insert(len(blocks) if edit == "append" else at, _draw_block(draw, numbers))
        elif at < len(blocks):
            block = blocks.pop(at)
            if edit == "edit":
                line = draw(st.sampled_from(list(block.editable)))
                changed = f"{block.lines[line]} edit{next(numbers)}"
                blocks.insert(
                    at, NoteBlock(block.kind, (*block.lines[:line], changed, *block.lines[line + 1 :]))
                )
            elif edit == "move":
                blocks.insert(draw(st.integers(0, len(blocks))), block)
    return blocks
