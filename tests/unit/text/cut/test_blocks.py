"""Large notes are read in blocks, with the result of one call, and other threads run meanwhile."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut import annotations as notes
from memd.text.cut.annotations import hide_annotations, marker_pattern, scan_markers

PIECES = st.lists(
    st.sampled_from(["<!--", "<!-", "-->", "--", " ", "\n", "project", ":", "x", "trigger:"]), max_size=40
)


@given(pieces=PIECES, block=st.integers(1, 12))
def test_markers_are_found_whatever_the_size_of_a_block(pieces: list[str], block: int) -> None:
    text, opening = "".join(pieces), marker_pattern("project", "trigger")
    one_call = re.compile(rf"(?s){opening.pattern}.*?-->", opening.flags)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notes, "BLOCK_CHARACTERS", block)
        assert [marker[:2] for marker in scan_markers(text, opening)] == [
            match.span() for match in one_call.finditer(text)
        ]


def test_other_threads_run_while_millions_of_comments_are_read() -> None:
    reading = threading.Thread(target=hide_annotations, args=("<!-- " * 6_000_000,))
    turns = 0
    reading.start()
    while reading.is_alive():
        reading.join(0.001)
        turns += 1

    assert turns > 10
