"""A transcript is flattened as the reference flattens it."""

from __future__ import annotations

from typing import Any

from memd.text.transcripts.messages import flatten_transcript
from tests.conformance.cases import recorded


@recorded("sessions", "name")
def test_transcripts_are_flattened_as_recorded(case: dict[str, Any]) -> None:
    assert flatten_transcript(case["jsonl"]) == (case["content"], case["line_map"])
