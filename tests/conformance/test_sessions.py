"""Transcripts are flattened as in OpenClaw."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases import recorded
from tests.support.flattening import flatten_transcript


@recorded("sessions", "name")
def test_transcripts_are_flattened_as_recorded(case: dict[str, Any]) -> None:
    assert flatten_transcript(case["jsonl"]) == (case["content"], case["line_map"])
