"""Captured messages, their categories and refused instructions equal OpenClaw's."""

from __future__ import annotations

from typing import Any

from memd.lifecycle.facts.capture import category_of, is_injection, judge_text
from tests.conformance.cases import recorded

MOST_CHARS = 500


@recorded("capture", "text")
def test_messages_are_captured_as_recorded(case: dict[str, Any]) -> None:
    found = {
        "capture": judge_text(case["text"], MOST_CHARS).captured,
        "category": category_of(case["text"]),
        "injection": is_injection(case["text"]),
    }

    assert found == {name: case[name] for name in found}
