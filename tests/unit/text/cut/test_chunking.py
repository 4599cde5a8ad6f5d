"""Chunks hold every line, are exact slices, and stay within their size."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.chunking import Chunk, chunk_between, chunk_text
from memd.text.tokens import has_wide, weigh
from tests.support.growth import check_linear

LINES = st.lists(
    st.one_of(
        st.text("ab é\r\t", max_size=90),
        st.text("部한กa 🙂", max_size=40),
        st.just(""),
        st.integers(30, 400).map("x".__mul__),
        st.integers(5, 120).map("部".__mul__),
    ),
    max_size=25,
)
CONTENTS = LINES.map("\n".join)
TOKENS = st.integers(0, 40)
OVERLAPS = st.integers(0, 20)


@given(CONTENTS, TOKENS, OVERLAPS)
def test_a_chunk_is_an_exact_slice_of_the_lines_it_names(content: str, tokens: int, overlap: int) -> None:
    lines = content.split("\n")
    for chunk in chunk_text(content, tokens, overlap):
        named = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert chunk.text in named
        assert chunk.text.count("\n") == chunk.end_line - chunk.start_line


@given(CONTENTS, TOKENS, OVERLAPS)
def test_chunks_follow_each_other_without_a_gap(content: str, tokens: int, overlap: int) -> None:
    covered = 0
    starts = [0]
    for line in content.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for chunk in chunk_text(content, tokens, overlap):
        # A chunk starts in the line it names, at or before the first character not yet covered.
        latest = min(covered, starts[chunk.start_line] - 1)
        begins = content.rfind(chunk.text, starts[chunk.start_line - 1], latest + len(chunk.text))
        assert begins >= 0
        assert chunk.text or chunk.start_line == chunk.end_line
        covered = begins + len(chunk.text)
        if covered < len(content) and content[covered] == "\n":
            covered += 1
    assert covered >= len(content)


@given(CONTENTS, TOKENS, OVERLAPS)
def test_no_chunk_outgrows_its_size_but_by_what_it_carries(content: str, tokens: int, overlap: int) -> None:
    most = max(32, tokens * 4)
    for chunk in chunk_text(content, tokens, 0):
        assert weigh(chunk.text) <= most
    for chunk in chunk_text(content, tokens, overlap):
        # Carried over: up to the overlap, the rest of the piece it falls into; then one new piece.
        assert weigh(chunk.text) <= max(most, overlap * 4 + 2 * (most + 1))


@given(st.lists(st.text("部한ก🙂", max_size=60), max_size=20).map("\n".join), TOKENS, OVERLAPS)
def test_wide_text_stays_within_the_size_even_with_overlap(content: str, tokens: int, overlap: int) -> None:
    for chunk in chunk_text(content, tokens, overlap):
        assert weigh(chunk.text) <= max(32, tokens * 4) or not has_wide(chunk.text)


@given(CONTENTS, TOKENS, OVERLAPS)
def test_the_hash_is_of_the_text_where_no_line_was_cut(content: str, tokens: int, overlap: int) -> None:
    most = max(32, tokens * 4)
    if all(weigh(line) <= most for line in content.split("\n")):
        for chunk in chunk_text(content, tokens, overlap):
            assert chunk.hash == hashlib.sha256(chunk.text.encode()).hexdigest()


def test_the_next_chunk_starts_with_the_end_of_the_last() -> None:
    content = "\n".join(["twelve chars"] * 6)

    chunks = chunk_text(content, 10, 2)

    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 3), (3, 5), (5, 6)]


def test_pieces_of_one_line_are_joined_in_the_text_and_apart_in_the_hash() -> None:
    # With overlap the second chunk holds two pieces of the same line.
    line = "a" * 32 + "b" * 32

    chunks = chunk_text(line, 8, 8)

    joined = hashlib.sha256(("a" * 32 + "\n" + "b" * 32).encode()).hexdigest()
    assert chunks[1] == Chunk(1, 1, line, joined)


def test_an_empty_content_is_one_empty_chunk() -> None:
    assert chunk_text("", 400, 80) == [Chunk(1, 1, "", hashlib.sha256(b"").hexdigest())]


def test_a_wide_line_is_cut_into_a_quarter_of_the_characters() -> None:
    chunks = chunk_text("部" * 20, 8, 0)

    assert [len(chunk.text) for chunk in chunks] == [8, 8, 4]


def test_a_lone_surrogate_does_not_stop_it() -> None:
    chunk = chunk_text("a\ud800b", 400, 80)[0]

    assert chunk.text == "a\ud800b"
    assert chunk.hash == hashlib.sha256("a\ufffdb".encode()).hexdigest()


def test_work_on_one_endless_line_grows_with_its_length() -> None:
    check_linear(lambda size: "x" * size, lambda text: chunk_text(text, 400, 80), 100_000)
    assert len(chunk_text("x" * 10_000_000, 400, 80)) == 6250


@given(CONTENTS, TOKENS, OVERLAPS, st.sets(st.integers(1, 40), max_size=6))
def test_no_chunk_goes_across_a_break_and_every_word_is_in_one(
    content: str, tokens: int, overlap: int, breaks: set[int]
) -> None:
    chunks = chunk_between(content, tokens, overlap, breaks)

    lines = content.split("\n")
    for each in chunks:
        assert content[each.start : each.start + len(each.text)] == each.text
        assert each.start_line == content.count("\n", 0, each.start) + 1
        assert not breaks & set(range(each.start_line + 1, each.end_line + 1))
    held = {line for each in chunks for line in range(each.start_line, each.end_line + 1)}
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= held
    assert chunk_between(content, tokens, overlap, ()) == chunk_text(content, tokens, overlap)
