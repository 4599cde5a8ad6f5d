"""Dates in paths are the reference's, but for the one row design.md supersedes."""

from __future__ import annotations

import re
from typing import Any

from memd.text.query.dates import date_in_path, is_evergreen
from tests.conformance.cases import recorded

SLUG = re.compile(r"(?:^|/)memory/(\d{4}-\d{2}-\d{2})-[^/]+\.md$")
"""A note whose name goes on behind its day: undated to the reference, dated here."""


@recorded("dates", "path")
def test_dates_and_evergreens_are_as_recorded(case: dict[str, Any]) -> None:
    expected = (case["date"], case["evergreen"])
    slug = SLUG.search(case["path"])
    if slug is not None:
        expected = (slug[1], False)

    day = date_in_path(case["path"])

    assert (day.isoformat() if day else None, is_evergreen(case["path"])) == expected
