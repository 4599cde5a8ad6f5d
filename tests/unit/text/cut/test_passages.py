"""Passages are exact slices, hold every word, stay within their size, and know where they stand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.cut.chunking import Chunk
from memd.text.cut.passages import CONTEXT_CHARACTERS, OVERLAP_UNITS, PASSAGE_UNITS, cut_passages, name_words
from memd.text.tokens import weigh
from tests.support.growth import check_linear

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
    """Return the texts of a content's passages."""
    return [each.text for each in cut_passages(content, PATH)]


def only(content: str, path: str = PATH) -> Chunk:
    """Return the one passage of a content."""
    (passage,) = cut_passages(content, path)
    return passage


@given(CONTENTS)
def test_a_passage_is_an_exact_slice_of_the_lines_it_names(content: str) -> None:
    lines = content.split("\n")
    for each in cut_passages(content, PATH):
        assert content[each.start : each.start + len(each.text)] == each.text
        assert each.start_line == content.count("\n", 0, each.start) + 1
        assert each.end_line == each.start_line + each.text.rstrip().count("\n")
        assert lines[each.start_line - 1].strip()
        assert lines[each.end_line - 1].strip()


@given(CONTENTS)
@example("word\n" + "\n" * 3000 + "word")
@example(" " * 3000 + "word")
def test_together_passages_hold_everything_from_the_first_word_on(content: str) -> None:
    passages = cut_passages(content, PATH)

    if not content.strip():
        assert passages == []
        return
    assert content[: passages[0].start].strip() == ""
    for one, other in pairwise(passages):
        between = content[one.start + len(one.text) : other.start]
        assert between in ("", "\n")
    assert content[passages[-1].start + len(passages[-1].text) :] in ("", "\n")


@given(CONTENTS)
def test_every_passage_goes_further_than_the_one_before(content: str) -> None:
    for one, other in pairwise(cut_passages(content, PATH)):
        assert one.start < other.start
        new = other.text[max(0, one.start + len(one.text) - other.start) :]
        assert new.strip()


@given(CONTENTS)
def test_no_passage_outgrows_its_size(content: str) -> None:
    for each in cut_passages(content, PATH):
        assert 0 < weigh(each.text.rstrip()) <= PASSAGE_UNITS


@given(CONTENTS)
def test_passages_repeat_no_more_than_the_overlap(content: str) -> None:
    for one, other in pairwise(cut_passages(content, PATH)):
        repeated = content[other.start : one.start + len(one.text)]
        assert weigh(repeated.strip("\n")) <= OVERLAP_UNITS


@given(st.lists(st.sampled_from(["# One", "## Two", "", "line", words_of(180), words_of(490)]), max_size=20))
def test_no_passage_ends_with_a_heading_alone_but_where_what_follows_has_no_room(lines: list[str]) -> None:
    passages = cut_passages("\n".join(lines), PATH)

    for one, other in pairwise(passages):
        ends = one.text.rstrip().rsplit("\n", 1)[-1]
        if ends.startswith("#"):
            assert weigh(one.text.rstrip()) + weigh(other.text.split("\n", 1)[0]) + 1 > PASSAGE_UNITS
            assert all(line.startswith("#") or not line.strip() for line in one.text.split("\n"))


@pytest.mark.parametrize("character", ["x", "部", "🙂", "a b", "。", "# ", "`", "é. "])
def test_work_on_one_line_grows_with_its_length(character: str) -> None:
    check_linear(
        lambda size: character * (size // len(character)), lambda text: cut_passages(text, PATH), 10_000
    )

    content = character * (100_000 // len(character))
    passages = cut_passages(content, PATH)
    assert len(passages) > 100
    assert {each.start_line for each in passages} == {each.end_line for each in passages} == {1}
    assert "".join(each.text for each in passages) == content


@pytest.mark.parametrize("mark", [" ", "\t", "#", " #"])
def test_work_on_a_heading_of_blanks_or_marks_grows_with_its_length(mark: str) -> None:
    def note(size: int) -> str:
        return f"# a{mark * (size // len(mark))}b\n{words_of(450)}\n{words_of(450)}"

    check_linear(note, lambda text: cut_passages(text, PATH), 5_000)

    passages = cut_passages(note(20_000), PATH)
    assert passages[-1].context.endswith(f"{mark * 20_000}b"[-CONTEXT_CHARACTERS:])


def test_a_long_line_is_cut_behind_a_sentence_then_behind_a_word_then_anywhere() -> None:
    sentences = texts_of("This is a sentence of some words. " * 40)
    words = texts_of("words " * 200)
    letters = texts_of("x" * 1200)
    chinese = texts_of("我们决定下周发布新版本。" * 40)

    assert all(text.endswith(". ") for text in sentences)
    assert [len(text) for text in sentences] == [14 * 34, 14 * 34, 12 * 34]
    assert [len(text) for text in words] == [83 * 6, 83 * 6, 34 * 6]
    assert [len(text) for text in letters] == [500, 500, 200]
    assert all(text.endswith("。") and len(text) <= 125 for text in chinese)


@pytest.mark.parametrize(("size", "passages"), [(299, 1), (300, 2)])
def test_a_passage_is_filled_to_its_size_and_no_further(size: int, passages: int) -> None:
    assert len(texts_of(f"{words_of(200)}\n{words_of(size)}")) == passages


@pytest.mark.parametrize(("size", "starts"), [(149, 2), (150, 3)])
def test_lines_are_repeated_up_to_the_overlap_and_no_further(size: int, starts: int) -> None:
    content = "\n".join([words_of(300), words_of(size), words_of(200)])

    assert cut_passages(content, PATH)[1].start_line == starts


def test_a_section_of_its_own_starts_a_passage_and_small_sections_go_together() -> None:
    small = "# A\nShort.\n\n# B\nShort too."
    large = f"# A\n{words_of(220)}\n\n# B\nShort."

    assert texts_of(small) == [small]
    assert texts_of(large) == [f"# A\n{words_of(220)}\n", "# B\nShort."]


def test_the_next_passage_starts_with_the_last_lines_but_never_across_a_heading() -> None:
    lines = [f"Line {number:02} {words_of(91)}" for number in range(12)]

    plain = cut_passages("\n".join(lines), PATH)
    headed = cut_passages("\n".join([*lines[:4], "# Next", *lines[4:]]), PATH)

    assert [(each.start_line, each.end_line) for each in plain] == [(1, 5), (5, 9), (9, 12)]
    assert (headed[0].end_line, headed[1].start_line) == (4, 5)


def test_nothing_is_repeated_where_that_leaves_no_room_for_the_next_line() -> None:
    content = "\n".join([words_of(200), words_of(120), words_of(450)])

    assert [(each.start_line, each.end_line) for each in cut_passages(content, PATH)] == [(1, 2), (3, 3)]


def test_blank_lines_at_the_end_of_a_passage_count_neither_for_its_lines_nor_for_its_hash() -> None:
    one, other = only("A line."), only("\n\nA line.\n\n  \n")

    assert (other.start_line, other.end_line) == (3, 3)
    assert one.hash == other.hash


@pytest.mark.parametrize("content", ["", "\n", " \n\t\n", "\u3000\n\x1f", "\n" * 5000])
def test_a_content_without_a_word_has_no_passage(content: str) -> None:
    assert cut_passages(content, PATH) == []


@pytest.mark.parametrize("content", ["\ud800", "a\x00b", "x\x85\u2028y", "# \ud83d\nx", "a\r\nb\r\n"])
def test_odd_characters_are_cut_as_any_other(content: str) -> None:
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

    contexts = [each.context for each in cut_passages(content, "projects/ledger-import.md")]

    assert contexts == [
        "projects ledger import",
        "projects ledger import > Launch",
        "projects ledger import > Launch > Steps",
        "projects ledger import > Launch",
    ]


def test_the_context_of_a_passage_that_goes_on_holds_its_own_heading() -> None:
    content = "\n".join(["# Launch", words_of(400), words_of(400)])

    assert [each.context for each in cut_passages(content, PATH)] == ["plan", "plan > Launch"]


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
def test_what_a_heading_says(heading: str, told: str) -> None:
    passages = cut_passages(f"{heading}\n{words_of(490)}\n{words_of(400)}", PATH)

    assert passages[-1].context == (f"plan > {told}" if told else "plan")


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
def test_a_mark_in_a_fence_is_no_heading(opening: str, closing: str, told: str) -> None:
    passages = cut_passages(f"{opening}\n# in it\n{closing}\n{words_of(450)}\n{words_of(400)}", PATH)

    assert passages[-1].context == told


def test_headings_count_again_behind_a_fence() -> None:
    passages = cut_passages(f"```\n# in it\n```\n# Real\n{words_of(400)}\n{words_of(400)}", PATH)

    assert passages[-1].context == "plan > Real"


def test_a_context_is_never_longer_than_its_limit_and_keeps_its_end() -> None:
    content = f"# {words_of(300)}\n## Nearest\n{words_of(400)}\n{words_of(400)}"

    context = cut_passages(content, PATH)[-1].context

    assert len(context) == CONTEXT_CHARACTERS
    assert context.endswith(" > Nearest")


def test_the_same_text_has_another_hash_in_another_context() -> None:
    here, there = only("Done.", "projects/red.md"), only("Done.", "projects/blue.md")
    again = only("Done.", "archive/2026-01-01-red.md"), only("Done.", "archive/2026-02-02-red.md")

    assert here.hash != there.hash
    assert again[0].hash == again[1].hash


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_path_never_changes_what_is_cut(content: str, path: str) -> None:
    given_path = [(each.text, each.start) for each in cut_passages(content, path)]

    assert given_path == [(each.text, each.start) for each in cut_passages(content, PATH)]


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
def test_a_path_in_words(path: str, words: str) -> None:
    assert name_words(path) == words


@given(CONTENTS, st.sets(st.integers(1, 60), max_size=8))
def test_no_passage_goes_across_a_break_and_nothing_is_lost_at_one(content: str, breaks: set[int]) -> None:
    lines = content.split("\n")
    wanted = {line for line in breaks if line <= len(lines) and lines[line - 1].strip()}

    passages = cut_passages(content, PATH, wanted)

    for each in passages:
        assert content[each.start : each.start + len(each.text)] == each.text
        assert not wanted & set(range(each.start_line + 1, each.end_line + 1))
    held = {line for each in passages for line in range(each.start_line, each.end_line + 1)}
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= held
    assert cut_passages(content, PATH, {1}) == cut_passages(content, PATH)


def test_an_entry_of_its_own_keeps_the_headings_it_stands_under() -> None:
    content = "# Kitchen\n- tea\n- milk\n- rye\n"

    passages = cut_passages(content, PATH, {3, 4})

    assert [(each.start_line, each.end_line) for each in passages] == [(1, 2), (3, 3), (4, 4)]
    assert [each.context for each in passages] == ["plan", "plan > Kitchen", "plan > Kitchen"]
