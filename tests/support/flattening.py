"""Flattening of whole transcripts."""

from __future__ import annotations

from memd.text.transcripts.messages import read_record


def flatten_transcript(jsonl: str) -> tuple[str, list[int]]:
    """Return the messages of a transcript, one per line, and the numbers of their records."""
    lines = [(read_record(record).line, number) for number, record in enumerate(jsonl.split("\n"), start=1)]
    said = [(line, number) for line, number in lines if line is not None]
    return "\n".join(line for line, _ in said), [number for _, number in said]
