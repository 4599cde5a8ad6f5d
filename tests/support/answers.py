"""A daemon's answers held against the disk."""

from __future__ import annotations

import time
from collections.abc import Callable

from memd_client import Client
from memd_client.messages import Hit
from tests.support.edits import EVERYTHING, EditedMemory, Look, fresh_word

SOON_S = 15.0
"""How long a change may take to be indexed by itself on a busy machine; it usually takes a third of a second."""

SEARCH_DEADLINE_MS = 20_000
"""The daemon may take its time to catch up: what is looked for here is what it answers then."""


def differences(client: Client, memory: EditedMemory, look: Look = EVERYTHING) -> list[str]:
    """Search for words and return in what the answers differ from the disk."""
    files = memory.files()
    # An emptied file may be half a save: the daemon may wait for the other half, and say so.
    settled = all(text.strip() for text in files.values())
    start = look.first % len(memory.words) if memory.words else 0
    words = memory.words[start:] + memory.words[:start] or [fresh_word()]
    found: list[str] = []
    for word in words if look.every else words[:1]:
        reply = client.search(word, max_results=50, deadline_ms=SEARCH_DEADLINE_MS)
        holders = {path for path, text in files.items() if word in text}
        paths = {hit.path for hit in reply.hits}
        if bool(paths) != bool(holders) or not paths <= holders:
            found.append(f"{word} is in {sorted(holders)}, found in {sorted(paths)}; {reply.pending}")
        if settled and (reply.pending.files or reply.partial):
            found.append(f"asked for {word}: {reply.pending}, partial {reply.partial}")
        found += [problem for hit in reply.hits if (problem := _misplaced(hit, files, word))]
    return found


def _misplaced(hit: Hit, files: dict[str, str], word: str) -> str | None:
    """Return what is wrong with a hit's place; None where its snippet is exactly those lines' text."""
    lines = files.get(hit.path, "").split("\n")[hit.start_line - 1 : hit.end_line]
    exact = hit.snippet in "\n".join(lines) and hit.snippet.count("\n") == hit.end_line - hit.start_line
    if exact and word in hit.snippet:
        return None
    return f"{hit.citation} shows {hit.snippet!r} for {word}; the file holds {lines!r} there"


def eventually(problems: Callable[[], list[str]]) -> None:
    """Return once there is no problem; fail with those there are when it takes too long."""
    deadline = time.monotonic() + SOON_S
    while found := problems():
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
