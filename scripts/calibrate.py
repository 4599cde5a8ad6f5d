"""Measures what the cosines of an embedding model mean: python scripts/calibrate.py MODEL.gguf

Prints the two cosines for `daemon/memd/search/calibration.txt`. It embeds the notes and queries of the set
`tests/retrieval/abstention`: `unrelated` is the median cosine between a query that no note answers and its nearest
chunk, `related` the median cosine between a query and the chunk that answers it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memd.embedding.local.child import CancellationFlag, load_model
from memd.embedding.prefixes import prefixes_of
from memd.text.cut.chunking import Chunk, cut_chunks
from tests.support.retrieval import SETS, RetrievalQuery, load_queries

SET = "abstention"
UNANSWERABLE, ANSWERABLE = ("nonsense", "absent"), ("words", "paraphrase")
MAX_TOKENS, THREADS = 512, 2


class PlacedChunk(NamedTuple):
    """A chunk of a note."""

    path: str
    chunk: Chunk

    def holds(self, query: RetrievalQuery) -> bool:
        """Return whether the chunk has a line that answers a query."""
        chunk = self.chunk
        return any(
            path == self.path and chunk.start_line <= line <= chunk.end_line for path, line in query.relevant
        )


def load_chunks(workspace: Path) -> list[PlacedChunk]:
    """Return the chunks of all notes."""
    return [
        PlacedChunk(path, chunk)
        for file in sorted(workspace.rglob("*.md"))
        for path in [file.relative_to(workspace).as_posix()]
        for chunk in cut_chunks(file.read_text(encoding="utf-8"), path)
    ]


def measure(
    embed_query: Callable[[str], NDArray[np.float64]],
    matrix: NDArray[np.float64],
    chunks: Sequence[PlacedChunk],
) -> tuple[float, float]:
    """Return the median cosines of unrelated and of related chunks."""
    unrelated, related = list[float](), list[float]()
    for query in load_queries(SET):
        if query.group in UNANSWERABLE:
            unrelated.append(float((matrix @ embed_query(query.query)).max()))
        elif query.group in ANSWERABLE:
            answers = [at for at, chunk in enumerate(chunks) if chunk.holds(query)]
            related.append(float((matrix[answers] @ embed_query(query.query)).max()))
    return float(np.median(unrelated)), float(np.median(related))


def main() -> None:
    """Print the row of a model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the model's GGUF file")
    model = parser.parse_args().model
    loaded = load_model(str(model), MAX_TOKENS, THREADS, CancellationFlag())
    if isinstance(loaded, dict):
        sys.exit(f"{model}: {loaded['message']}")
    prefixes = prefixes_of(model.stem)

    def embed(text: str) -> NDArray[np.float64]:
        vector = np.frombuffer(loaded.embed(text)[0], "<f4").astype(np.float64)
        return vector / np.linalg.norm(vector)

    chunks = load_chunks(SETS / SET / "workspace")
    documents = [f"{prefixes.document}{placed.chunk.context}\n{placed.chunk.text}" for placed in chunks]
    matrix = np.stack([embed(document) for document in documents])
    unrelated, related = measure(lambda text: embed(prefixes.query + text), matrix, chunks)
    print(f"{model.stem} {unrelated:.3f} {related:.3f}")


if __name__ == "__main__":
    main()
