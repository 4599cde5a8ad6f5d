"""Edits of notes, each followed by a search for it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import make_vocabulary
from memd_client import Client
from memd_client.messages import Hit, SearchReply


class RandomQueries:
    """An endless supply of queries: some words from a range of ranks."""

    def __init__(self, words: int = 5, ranks: tuple[int, int] = (50, 3000)) -> None:
        self._words = make_vocabulary()[0][slice(*ranks)]
        self._count = words
        self._chance = random.Random(11)

    def __call__(self) -> str:
        return " ".join(self._chance.choices(self._words, k=self._count))


@dataclass(frozen=True)
class Trial:
    """One edit and the search after it.

    `stale` describes what the answer missed, if anything; `with_vector` is whether the new text's own vector took part.
    """

    kind: str
    path: str
    took_s: float
    reply: SearchReply
    stale: str
    with_vector: bool


class EditTrials:
    """Edits of a workspace: new, extended, rewritten, renamed and deleted notes."""

    def __init__(self, workspace: Path, chance: random.Random) -> None:
        self._workspace = workspace
        self._chance = chance
        self._text = RandomQueries()
        self._frequent = RandomQueries(2, (10, 50))  # matches that cost time but do not outweigh a rare word
        self._number = 0
        self._words: dict[Path, str] = {}
        for path in sorted((workspace / "memory").rglob("*.md")):
            self._append(path)

    def one(self, client: Client) -> Trial:
        """Do one edit, search for it, and compare the answer with the disk."""
        kind = self._chance.choice(("new", "append", "rewrite", "rename", "delete"))
        path = self._chance.choice(list(self._words))
        gone = self._words[path] if kind in ("rewrite", "delete") else None
        if kind == "new":
            path = self._workspace / "memory" / "new" / f"{self._number:06d}.md"
            path.parent.mkdir(exist_ok=True)
        elif kind == "rename":
            word = self._words.pop(path)
            path = path.rename(path.with_name(f"moved-{self._number:06d}.md"))
            self._words[path] = word
        elif kind == "delete":
            path.unlink()
            del self._words[path]
        elif kind == "rewrite":
            path.write_text("")
        if kind in ("new", "append", "rewrite"):
            self._append(path)
        return self._ask(client, kind, path, self._words.get(path), gone)

    def _append(self, path: Path) -> None:
        self._number += 1
        word = self._words[path] = f"zq{self._number:06d}zq"
        with path.open("a") as file:
            file.write(f"\nDecided: the {word} goes to {self._text()}.\n")

    def _ask(self, client: Client, kind: str, path: Path, word: str | None, gone: str | None) -> Trial:
        query = f"{word or gone} {self._frequent()}"
        started = time.perf_counter()
        reply = client.search(query, explain=True)
        took_s = time.perf_counter() - started
        name = path.relative_to(self._workspace).as_posix()
        hits = [hit for hit in reply.hits if hit.path == name and _holds(hit, path, word)]
        stale = []
        if bool(hits) != (word is not None):
            stale.append(f"{word} is not found, {reply.pending}")
        stale += [f"{hit.path} is gone" for hit in reply.hits if not (self._workspace / hit.path).is_file()]
        if gone is not None and any(gone in hit.snippet for hit in client.search(gone).hits):
            stale.append(f"{gone} is still found")
        with_vector = any(hit.vector_score is not None for hit in hits)
        return Trial(kind, name, took_s, reply, "; ".join(stale), with_vector)


def _holds(hit: Hit, path: Path, word: str | None) -> bool:
    """Return whether the chunk of a hit has a word of its file."""
    line = 0 if word is None else path.read_text().partition(word)[0].count("\n") + 1
    first, last = (hit.explain or {})["chunk_lines"]
    return bool(first <= line <= last)
