"""Every kind of source is indexed as before, to the digit."""

from __future__ import annotations

from tests.support.frozen import GOLDEN, GOLDEN_PARTS, lines_of, record


def test_every_kind_of_source_is_indexed_as_recorded() -> None:
    assert lines_of(record(), GOLDEN_PARTS) == GOLDEN.read_text("utf-8").splitlines()
