"""Dates in paths equal OpenClaw's, except for one difference in design.md."""

from __future__ import annotations

import re
from typing import Any

from memd.text.query.dates import date_in_path
from tests.conformance.cases import recorded

SLUG = re.compile(r"(?:^|/)memory/(\d{4}-\d{2}-\d{2})-[^/]+\.md$")
"""A note with a suffix after its day: undated in OpenClaw, dated here."""


@recorded("dates", "path")
def test_dates_are_as_recorded(case: dict[str, Any]) -> None:
    slug = SLUG.search(case["path"])

    day = date_in_path(case["path"])

    assert (day.isoformat() if day else None) == (case["date"] if slug is None else slug[1])
