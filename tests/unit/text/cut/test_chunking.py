"""Both chunking schemes."""

from __future__ import annotations

import gc
import hashlib
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.cut import chunking
from memd.text.cut.chunking import (
    MAX_CHUNK_UNITS,
    MAX_CONTEXT_CHARACTERS,
    MAX_OVERLAP_UNITS,
    Chunk,
    chunk_text,
    chunk_text_at_breaks,
    cut_chunks,
    path_words,
)
from memd.text.tokens import count_units, has_wide
from tests.support.growth import check_linear

ROWS = st.lists(
    st.one_of(
        st.text("ab é\r\t", max_size=90),
        st.text("部한กa 🙂", max_size=40),
        st.just(""),
        st.integers(30, 400).map("x".__mul__),
        st.integers(5, 120).map("部".__mul__),
    ),
    max_size=25,
)
ROW_CONTENTS = ROWS.map("\n".join)
TOKENS = st.integers(0, 40)
OVERLAPS = st.integers(0, 20)


@given(ROW_CONTENTS, TOKENS, OVERLAPS)
def test_a_reference_chunk_is_an_exact_slice_of_its_lines(content: str, tokens: int, overlap: int) -> None:
    lines = content.split("\n")
    for chunk in chunk_text(content, tokens, overlap):
        named = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert chunk.text in named
        assert chunk.text.count("\n") == chunk.end_line - chunk.start_line


@given(ROW_CONTENTS, TOKENS, OVERLAPS)
def test_chunks_follow_each_other_without_a_gap(content: str, tokens: int, overlap: int) -> None:
    covered = 0
    starts = [0]
    for line in content.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for chunk in chunk_text(content, tokens, overlap):
        # A chunk starts in its first line, at or before the first character not yet covered.
        latest = min(covered, starts[chunk.start_line] - 1)
        begins = content.rfind(chunk.text, starts[chunk.start_line - 1], latest + len(chunk.text))
        assert begins >= 0
        assert chunk.text or chunk.start_line == chunk.end_line
        covered = begins + len(chunk.text)
        if covered < len(content) and content[covered] == "\n":
            covered += 1
    assert covered >= len(content)


@given(ROW_CONTENTS, TOKENS, OVERLAPS)
def test_a_chunk_exceeds_its_size_only_by_the_overlap(content: str, tokens: int, overlap: int) -> None:
    most = max(32, tokens * 4)
    for chunk in chunk_text(content, tokens, 0):
        assert count_units(chunk.text) <= most
    for chunk in chunk_text(content, tokens, overlap):
        # The overlap, the rest of the part it starts in, and one new part.
        assert count_units(chunk.text) <= max(most, overlap * 4 + 2 * (most + 1))


@given(st.lists(st.text("部한ก🙂", max_size=60), max_size=20).map("\n".join), TOKENS, OVERLAPS)
def test_wide_text_stays_within_the_size_even_with_overlap(content: str, tokens: int, overlap: int) -> None:
    for chunk in chunk_text(content, tokens, overlap):
        assert count_units(chunk.text) <= max(32, tokens * 4) or not has_wide(chunk.text)


@given(ROW_CONTENTS, TOKENS, OVERLAPS)
def test_the_hash_is_of_the_text_if_no_line_was_split(content: str, tokens: int, overlap: int) -> None:
    most = max(32, tokens * 4)
    if all(count_units(line) <= most for line in content.split("\n")):
        for chunk in chunk_text(content, tokens, overlap):
            assert chunk.hash == hashlib.sha256(chunk.text.encode()).hexdigest()


def test_the_next_chunk_starts_with_the_end_of_the_last() -> None:
    content = "\n".join(["twelve chars"] * 6)

    chunks = chunk_text(content, 10, 2)

    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 3), (3, 5), (5, 6)]


def test_parts_of_one_line_are_joined_in_the_text_and_separate_in_the_hash() -> None:
    # With overlap the second chunk has two parts of the same line.
    line = "a" * 32 + "b" * 32

    chunks = chunk_text(line, 8, 8)

    joined = hashlib.sha256(("a" * 32 + "\n" + "b" * 32).encode()).hexdigest()
    assert chunks[1] == Chunk(1, 1, line, joined)


def test_an_empty_content_is_one_empty_chunk() -> None:
    assert chunk_text("", 400, 80) == [Chunk(1, 1, "", hashlib.sha256(b"").hexdigest())]


def test_a_wide_line_is_cut_into_a_quarter_of_the_characters() -> None:
    chunks = chunk_text("部" * 20, 8, 0)

    assert [len(chunk.text) for chunk in chunks] == [8, 8, 4]


def test_a_lone_surrogate_is_chunked() -> None:
    chunk = chunk_text("a\ud800b", 400, 80)[0]

    assert chunk.text == "a\ud800b"
    assert chunk.hash == hashlib.sha256("a\ufffdb".encode()).hexdigest()


def test_work_on_one_endless_line_grows_with_its_length() -> None:
    check_linear(lambda size: "x" * size, lambda text: chunk_text(text, 400, 80), 100_000)
    assert len(chunk_text("x" * 10_000_000, 400, 80)) == 6250


@given(ROW_CONTENTS, TOKENS, OVERLAPS, st.sets(st.integers(1, 40), max_size=6))
def test_no_chunk_crosses_a_break_and_every_word_is_in_a_chunk(
    content: str, tokens: int, overlap: int, breaks: set[int]
) -> None:
    chunks = chunk_text_at_breaks(content, tokens, overlap, breaks)

    lines = content.split("\n")
    for each in chunks:
        assert content[each.start : each.start + len(each.text)] == each.text
        assert each.start_line == content.count("\n", 0, each.start) + 1
        assert not breaks & set(range(each.start_line + 1, each.end_line + 1))
    held = {line for each in chunks for line in range(each.start_line, each.end_line + 1)}
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= held
    assert chunk_text_at_breaks(content, tokens, overlap, ()) == chunk_text(content, tokens, overlap)


PATH = "memory/plan.md"

LINES = st.one_of(
    st.text("ab é.\t", max_size=90),
    st.text("部한กa。 🙂", max_size=60),
    st.sampled_from(
        ["", "", "   ", "```", "```py", "~~~", "# One", "## Two ##", "### Three", "#", "# ", "- item"]
    ),
    st.integers(30, 1200).map("x".__mul__),
    st.integers(5, 300).map("部".__mul__),
    st.integers(10, 200).map("Some words end here. ".__mul__),
    st.integers(400, 1200).map(" ".__mul__),
)
CONTENTS = st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text(max_size=400))


def words_of(size: int) -> str:
    """Return one line of that many characters."""
    return ("word " * size)[: size - 1] + "."


def texts_of(content: str) -> list[str]:
    """Return the texts of a content's chunks."""
    return [each.text for each in cut_chunks(content, PATH)]


def only(content: str, path: str = PATH) -> Chunk:
    """Return the one chunk of a content."""
    (chunk,) = cut_chunks(content, path)
    return chunk


@given(CONTENTS)
def test_a_chunk_is_an_exact_slice_of_its_lines(content: str) -> None:
    lines = content.split("\n")
    for each in cut_chunks(content, PATH):
        assert content[each.start : each.start + len(each.text)] == each.text
        assert each.start_line == content.count("\n", 0, each.start) + 1
        assert each.end_line == each.start_line + each.text.rstrip().count("\n")
        assert lines[each.start_line - 1].strip()
        assert lines[each.end_line - 1].strip()


@given(CONTENTS)
@example("word\n" + "\n" * 3000 + "word")
@example(" " * 3000 + "word")
def test_chunks_cover_everything_from_the_first_word_on(content: str) -> None:
    chunks = cut_chunks(content, PATH)

    if not content.strip():
        assert chunks == []
        return
    assert content[: chunks[0].start].strip() == ""
    for one, other in pairwise(chunks):
        between = content[one.start + len(one.text) : other.start]
        assert between in ("", "\n")
    assert content[chunks[-1].start + len(chunks[-1].text) :] in ("", "\n")


@given(CONTENTS)
def test_every_chunk_ends_after_the_previous_one(content: str) -> None:
    for one, other in pairwise(cut_chunks(content, PATH)):
        assert one.start < other.start
        new = other.text[max(0, one.start + len(one.text) - other.start) :]
        assert new.strip()


@given(CONTENTS)
def test_no_chunk_exceeds_its_size(content: str) -> None:
    for each in cut_chunks(content, PATH):
        assert 0 < count_units(each.text.rstrip()) <= MAX_CHUNK_UNITS


@given(CONTENTS)
def test_chunks_repeat_no_more_than_the_overlap(content: str) -> None:
    for one, other in pairwise(cut_chunks(content, PATH)):
        repeated = content[other.start : one.start + len(one.text)]
        assert count_units(repeated.strip("\n")) <= MAX_OVERLAP_UNITS


@given(st.lists(st.sampled_from(["# One", "## Two", "", "line", words_of(180), words_of(490)]), max_size=20))
def test_a_chunk_ends_with_a_heading_only_if_the_next_line_does_not_fit(lines: list[str]) -> None:
    chunks = cut_chunks("\n".join(lines), PATH)

    for one, other in pairwise(chunks):
        ends = one.text.rstrip().rsplit("\n", 1)[-1]
        if ends.startswith("#"):
            next_line = other.text.split("\n", 1)[0]
            assert count_units(f"{one.text}\n{next_line}") > MAX_CHUNK_UNITS
            assert all(line.startswith("#") or not line.strip() for line in one.text.split("\n"))


@pytest.mark.parametrize("character", ["x", "部", "🙂", "a b", "。", "# ", "`", "é. "])
def test_work_on_one_line_grows_with_its_length(character: str) -> None:
    check_linear(
        lambda size: character * (size // len(character)), lambda text: cut_chunks(text, PATH), 10_000
    )

    content = character * (100_000 // len(character))
    chunks = cut_chunks(content, PATH)
    assert len(chunks) > 100
    assert {each.start_line for each in chunks} == {each.end_line for each in chunks} == {1}
    assert "".join(each.text for each in chunks) == content


@pytest.mark.parametrize("mark", [" ", "\t", "#", " #"])
def test_work_on_a_heading_of_blanks_or_marks_grows_with_its_length(mark: str) -> None:
    def note(size: int) -> str:
        return f"# a{mark * (size // len(mark))}b\n{words_of(450)}\n{words_of(450)}"

    check_linear(note, lambda text: cut_chunks(text, PATH), 5_000)

    chunks = cut_chunks(note(20_000), PATH)
    assert chunks[-1].context.endswith(f"{mark * 20_000}b"[-MAX_CONTEXT_CHARACTERS:])


@given(st.text(alphabet="ab\n\r", max_size=40))
def test_lines_are_the_same_in_blocks_of_any_size(content: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunking, "BLOCK_CHARACTERS", 3)
        assert list(chunking._lines(content)) == content.split("\n")


def test_lines_are_not_visited_by_the_garbage_collector() -> None:
    assert not any(map(gc.is_tracked, chunking._line_parts("# one\ntwo", ())))


def test_a_long_line_is_split_after_a_sentence_or_a_word_or_anywhere() -> None:
    sentences = texts_of("This is a sentence of some words. " * 40)
    words = texts_of("words " * 200)
    letters = texts_of("x" * 1200)
    chinese = texts_of("我们决定下周发布新版本。" * 40)

    assert all(text.endswith(". ") for text in sentences)
    assert [len(text) for text in sentences] == [14 * 34, 14 * 34, 12 * 34]
    assert [len(text) for text in words] == [83 * 6, 83 * 6, 34 * 6]
    assert [len(text) for text in letters] == [500, 500, 200]
    assert all(text.endswith("。") and len(text) <= 125 for text in chinese)


@pytest.mark.parametrize(("size", "chunks"), [(299, 1), (300, 2)])
def test_a_chunk_is_filled_up_to_its_size(size: int, chunks: int) -> None:
    assert len(texts_of(f"{words_of(200)}\n{words_of(size)}")) == chunks


@pytest.mark.parametrize(("size", "starts"), [(149, 2), (150, 3)])
def test_lines_are_repeated_up_to_the_overlap(size: int, starts: int) -> None:
    content = "\n".join([words_of(300), words_of(size), words_of(200)])

    assert cut_chunks(content, PATH)[1].start_line == starts


def test_a_large_section_starts_a_chunk_and_small_sections_share_one() -> None:
    small = "# A\nShort.\n\n# B\nShort too."
    large = f"# A\n{words_of(220)}\n\n# B\nShort."

    assert texts_of(small) == [small]
    assert texts_of(large) == [f"# A\n{words_of(220)}\n", "# B\nShort."]


def test_the_overlap_never_crosses_a_heading() -> None:
    lines = [f"Line {number:02} {words_of(91)}" for number in range(12)]

    plain = cut_chunks("\n".join(lines), PATH)
    headed = cut_chunks("\n".join([*lines[:4], "# Next", *lines[4:]]), PATH)

    assert [(each.start_line, each.end_line) for each in plain] == [(1, 5), (5, 9), (9, 12)]
    assert (headed[0].end_line, headed[1].start_line) == (4, 5)


def test_the_overlap_is_dropped_if_the_next_line_would_not_fit() -> None:
    content = "\n".join([words_of(200), words_of(120), words_of(450)])

    assert [(each.start_line, each.end_line) for each in cut_chunks(content, PATH)] == [(1, 2), (3, 3)]


def test_blank_lines_at_the_end_of_a_chunk_count_neither_for_its_lines_nor_for_its_hash() -> None:
    one, other = only("A line."), only("\n\nA line.\n\n  \n")

    assert (other.start_line, other.end_line) == (3, 3)
    assert one.hash == other.hash


@pytest.mark.parametrize("content", ["", "\n", " \n\t\n", "\u3000\n\x1f", "\n" * 5000])
def test_a_content_without_a_word_has_no_chunk(content: str) -> None:
    assert cut_chunks(content, PATH) == []


@pytest.mark.parametrize("content", ["\ud800", "a\x00b", "x\x85\u2028y", "# \ud83d\nx", "a\r\nb\r\n"])
def test_unusual_characters_are_chunked(content: str) -> None:
    assert only(content).text == content


def test_the_context_is_the_name_and_the_headings_above() -> None:
    content = "\n".join(
        [
            "# Launch",
            words_of(300),
            "## Steps",
            words_of(300),
            "### First",
            words_of(300),
            "## After",
            words_of(300),
        ]
    )

    contexts = [each.context for each in cut_chunks(content, "projects/ledger-import.md")]

    assert contexts == [
        "projects ledger import",
        "projects ledger import > Launch",
        "projects ledger import > Launch > Steps",
        "projects ledger import > Launch",
    ]


def test_the_context_of_a_continued_section_has_its_heading() -> None:
    content = "\n".join(["# Launch", words_of(400), words_of(400)])

    assert [each.context for each in cut_chunks(content, PATH)] == ["plan", "plan > Launch"]


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("# Ways of C#", "Ways of C#"),
        ("# Closed ##", "Closed"),
        ("#  Blanks \t ", "Blanks"),
        ("   ###### Deep ######  ", "Deep"),
        ("# ##", ""),
        ("#", ""),
        ("#NoBlank", ""),
        ("####### Seven", ""),
        ("    # Code", ""),
        ("# 2026-03-05", ""),
        ("# 2026-03-05 Standup", "Standup"),
        ("# PLAN", ""),
    ],
)
def test_heading_text_omits_closing_marks(heading: str, told: str) -> None:
    chunks = cut_chunks(f"{heading}\n{words_of(490)}\n{words_of(400)}", PATH)

    assert chunks[-1].context == (f"plan > {told}" if told else "plan")


@pytest.mark.parametrize(
    ("opening", "closing", "told"),
    [
        ("```", "```", "plan"),
        ("~~~~ sh", "~~~~~", "plan"),
        ("````", "```", "plan"),
        ("```sh", "```sh", "plan"),
        ("```not a fence```", "", "plan > in it"),
        ("text ```", "", "plan > in it"),
    ],
)
def test_a_mark_in_a_code_fence_is_text(opening: str, closing: str, told: str) -> None:
    chunks = cut_chunks(f"{opening}\n# in it\n{closing}\n{words_of(450)}\n{words_of(400)}", PATH)

    assert chunks[-1].context == told


def test_headings_are_recognized_after_a_code_fence() -> None:
    chunks = cut_chunks(f"```\n# in it\n```\n# Real\n{words_of(400)}\n{words_of(400)}", PATH)

    assert chunks[-1].context == "plan > Real"


def test_a_long_context_keeps_its_end() -> None:
    content = f"# {words_of(300)}\n## Nearest\n{words_of(400)}\n{words_of(400)}"

    context = cut_chunks(content, PATH)[-1].context

    assert len(context) == MAX_CONTEXT_CHARACTERS
    assert context.endswith(" > Nearest")


def test_the_hash_of_a_text_depends_on_its_context() -> None:
    here, there = only("Done.", "projects/red.md"), only("Done.", "projects/blue.md")
    again = only("Done.", "archive/2026-01-01-red.md"), only("Done.", "archive/2026-02-02-red.md")

    assert here.hash != there.hash
    assert again[0].hash == again[1].hash


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_path_does_not_change_the_chunk_boundaries(content: str, path: str) -> None:
    given_path = [(each.text, each.start) for each in cut_chunks(content, path)]

    assert given_path == [(each.text, each.start) for each in cut_chunks(content, PATH)]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("MEMORY.md", ""),
        ("memory/2026-03-05.md", ""),
        ("memory/2026-03-05-vendor-call.md", "vendor call"),
        ("projects/ledger_import.v2.md", "projects ledger import v2"),
        ("a/b/c/d.md", "b c d"),
        ("memory/README.md", ""),
        ("users/Ann Lee/USER.md", "users Ann Lee"),
        ("記憶/日記.md", "記憶 日記"),
        ("noextension", "noextension"),
        ("", ""),
        (".md", ""),
    ],
)
def test_words_of_a_path(path: str, words: str) -> None:
    assert path_words(path) == words


@given(CONTENTS, st.sets(st.integers(1, 60), max_size=8))
def test_default_chunks_cross_no_break_and_lose_no_text(content: str, breaks: set[int]) -> None:
    lines = content.split("\n")
    wanted = {line for line in breaks if line <= len(lines) and lines[line - 1].strip()}

    chunks = cut_chunks(content, PATH, wanted)

    for each in chunks:
        assert content[each.start : each.start + len(each.text)] == each.text
        assert not wanted & set(range(each.start_line + 1, each.end_line + 1))
    held = {line for each in chunks for line in range(each.start_line, each.end_line + 1)}
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= held
    assert cut_chunks(content, PATH, {1}) == cut_chunks(content, PATH)


def test_a_separate_entry_keeps_its_headings_as_context() -> None:
    content = "# Kitchen\n- tea\n- milk\n- rye\n"

    chunks = cut_chunks(content, PATH, {3, 4})

    assert [(each.start_line, each.end_line) for each in chunks] == [(1, 2), (3, 3), (4, 4)]
    assert [each.context for each in chunks] == ["plan", "plan > Kitchen", "plan > Kitchen"]
