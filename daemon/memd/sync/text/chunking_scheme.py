"""How one agent's files are cut into chunks: ours, the user's sizes, or as OpenClaw cut what was adopted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from memd.index.meta import ADOPTED
from memd.settings.schema import Chunking
from memd.text.cut.chunking import Chunk, chunk_between
from memd.text.cut.passages import cut_passages

PASSAGES = "passages 1"
"""Our cut. Its number counts the versions of `memd.text.cut.passages`: another one means that files are cut anew."""


@dataclass(frozen=True, slots=True)
class ChunkingScheme:
    """A way to cut files; two of one name cut alike."""

    name: str
    cut: Callable[[str, str, Collection[int]], list[Chunk]]
    """(text, path in the index, lines no chunk goes across) -> its chunks."""

    def apply(self, text: str, path: str, breaks: Collection[int] = ()) -> list[Chunk]:
        """Return the chunks of a text."""
        return self.cut(text, path, breaks)


def choose_cut(chunking: Chunking, remembered: str | None) -> ChunkingScheme:
    """Return how an agent's files are to be cut."""
    if chunking.sizes_set:
        return _by_size(f"lines {chunking.tokens} {chunking.overlap}", chunking.tokens, chunking.overlap)
    if remembered is not None and remembered.startswith(ADOPTED):
        tokens, overlap = remembered.split()[1:]
        return _by_size(remembered, int(tokens), int(overlap))
    return ChunkingScheme(PASSAGES, cut_passages)


def cut_conversations(
    text: str, first_lines: Sequence[int], cut: Callable[[str], list[Chunk]]
) -> list[Chunk]:
    """Return the chunks of a transcript; none holds lines of two conversations.

    Offsets of each conversation are one character further on than in the text, so that what is shown around a chunk
    ends where its conversation does: its neighbour doesn't follow without a gap.
    """
    if not first_lines:
        return cut(text)
    lines = text.split("\n")
    starts = sorted({0, *(line - 1 for line in first_lines if line <= len(lines))})
    chunks: list[Chunk] = []
    offset = 0
    for number, (first, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        part = "\n".join(lines[first:end])
        chunks += [
            replace(
                chunk,
                start_line=chunk.start_line + first,
                end_line=chunk.end_line + first,
                start=chunk.start + offset + number,
            )
            for chunk in cut(part)
        ]
        offset += len(part) + 1
    return chunks


def _by_size(name: str, tokens: int, overlap: int) -> ChunkingScheme:
    """Return the reference's cut for some sizes, in tokens."""
    return ChunkingScheme(name, lambda text, _, breaks: chunk_between(text, tokens, overlap, breaks))
