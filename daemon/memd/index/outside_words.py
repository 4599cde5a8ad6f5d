"""Recognizes what a session repeats of other people's words in commands, edits and digests."""

from __future__ import annotations

from memd.index.origins import load_fetched, load_origins
from memd.index.transcripts import load_said
from memd.system.sqlite import Database
from memd.text.trust.origins import OUTSIDE, UNKNOWN
from memd.text.trust.shingles import repeated_lines, shingles_of


def find_outside_lines(db: Database, path: str, text: str) -> tuple[list[int], str]:
    """Return the numbers of the lines that repeat what a session read, or got as messages, of other people, and why."""
    texts = load_fetched(db, text, "path = :path AND origin = :origin", {"path": path, "origin": OUTSIDE})
    known = {value for fetched in texts for value in fetched.shingles}
    origins = load_origins(db, [path]).get(path, UNKNOWN)
    said = load_said(db, path) if origins.has(OUTSIDE) else []
    for message in {*said} - {*origins.without_outside(said)}:
        if message.startswith("User: "):  # what an answer repeats is in the texts
            known |= shingles_of(message)
    lines = repeated_lines(text.split("\n"), known.__contains__) if known else []
    return lines, f"repeats {texts[0].what}" if texts else "repeats a message of other people"
