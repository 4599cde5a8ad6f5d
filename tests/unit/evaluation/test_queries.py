"""Queries that are made from notes."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.evaluation.notes import Note, NoteIndex, NoteKind
from memd.evaluation.queries import QueryKind, Wording, make_queries, with_typo
from memd.text.tokens import folded_words

DAILY = Note(
    "memory/2026-03-02.md",
    NoteKind.DAILY,
    "# Archive search\n\nWe moved the archive to heron-12 because Ana Pereira found the vibration of the rack.\n",
    "2026-03-02",
)
OTHER = Note(
    "memory/people.md",
    NoteKind.OTHER,
    "# People\n\nThe landlord wants the deposit for the flat by 14 May 2026, says the letter.\n",
)
CHINESE = Note("memory/a.md", NoteKind.OTHER, "我们在三月把归档搜索迁移到了新的服务器上，因为机架震动。\n")


def as_written(notes: list[Note], kind: QueryKind) -> set[str]:
    """Return the queries of a kind in the words of the notes."""
    return {
        query.text
        for query in make_queries(notes, 200)
        if query.kind is kind and query.wording is Wording.AS_WRITTEN
    }


def test_each_kind_of_query_is_made() -> None:
    assert as_written([DAILY, OTHER], QueryKind.HEADING) == {"Archive search", "People"}
    assert as_written([DAILY, OTHER], QueryKind.NAME) == {"heron-12", "Ana Pereira"}
    assert as_written([DAILY, OTHER], QueryKind.RARE_WORD) == {"vibration", "landlord"}
    assert as_written([DAILY, OTHER], QueryKind.SENTENCE) == {
        "moved heron Pereira found vibration",
        "landlord wants deposit flat letter",
    }


def test_date_is_that_of_the_sentence_or_else_of_the_note() -> None:
    dates = {query.split(" ", 1)[0] for query in as_written([DAILY, OTHER], QueryKind.DATE)}

    assert dates == {"2026-03-02", "14"}


def test_chinese_sentence_gives_one_of_its_clauses() -> None:
    (query,) = as_written([CHINESE], QueryKind.SENTENCE)

    assert query in CHINESE.text


def test_place_is_the_line_of_the_query() -> None:
    (query,) = [each for each in make_queries([DAILY, OTHER], 200) if each.text == "vibration"]

    (line,) = query.lines
    assert (line.note.path, line.number) == ("memory/2026-03-02.md", 3)
    assert line.chunk.start_line <= 3 <= line.chunk.end_line


def test_copies_of_a_heading_are_places_too_unless_they_are_many() -> None:
    def notes(number: int) -> list[Note]:
        return [
            Note(f"memory/{at}.md", NoteKind.OTHER, f"# Heron census\n\nword{at}\n") for at in range(number)
        ]

    (few,) = [
        each
        for each in make_queries(notes(2), 200)
        if each.kind is QueryKind.HEADING and each.wording is Wording.AS_WRITTEN
    ]
    assert {line.note.path for line in few.lines} == {"memory/0.md", "memory/1.md"}
    assert not any(each.kind is QueryKind.HEADING for each in make_queries(notes(4), 200))


def test_typo_changes_the_longest_word_alone() -> None:
    for number in range(40):
        changed = with_typo(NoteIndex([]), "the archive 2026 of Ana", number)
        before, after = "the archive 2026 of Ana".split(), changed.split()
        assert [at for at in range(5) if before[at] != after[at]] == [1]
    assert with_typo(NoteIndex([]), "the rack 网关的端口", 1) == ""
    known = NoteIndex([Note("memory/a.md", NoteKind.OTHER, "achive archve archie archiv arcive")])
    assert any(with_typo(known, "archive", number) == "" for number in range(40))


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            ["# Heron census", "the port of gateway kestrel-12 is 4711 since May 3", "归档搜索迁移到了服务器"]
        ),
    ),
    max_size=10,
).map("\n".join)
NOTES = st.lists(
    st.builds(
        Note,
        st.sampled_from(["memory/a.md", "MEMORY.md", "memory/b.md"]),
        st.sampled_from(NoteKind),
        TEXTS,
    ),
    max_size=5,
    unique_by=lambda note: note.path,
)


@given(NOTES, st.integers(1, 60), st.randoms())
@example([Note("memory/a.md", NoteKind.DAILY, "XðÐfG")], 2, random.Random(0))
def test_queries_are_distinct_have_their_place_and_depend_on_no_order(
    notes: list[Note], limit: int, order: random.Random
) -> None:
    queries = make_queries(notes, limit)

    assert len(queries) <= limit
    texts = {note.path: note.text.split("\n") for note in notes}
    for query in queries:
        assert folded_words(query.text)
        assert all(line.number <= len(texts[line.note.path]) for line in query.lines)
    assert max(Counter(each.text.casefold() for each in queries).values(), default=1) == 1
    shuffled = list(notes)
    order.shuffle(shuffled)
    assert make_queries(shuffled, limit) == queries


@pytest.mark.parametrize("limit", [60, 200])
def test_one_new_note_changes_few_queries(limit: int) -> None:
    words = [
        f"{first}{second}" for first in ("heron", "otter", "maple", "quartz") for second in "abcdefghijklmnop"
    ]
    notes = [
        Note(
            f"memory/{at}.md",
            NoteKind.OTHER,
            f"# About {words[at]}\n\nThe {words[at]} needs {words[-at]}box and {words[at - 7]}lid before winter.\n",
        )
        for at in range(60)
    ]
    new = Note(
        "memory/new.md",
        NoteKind.OTHER,
        "# Fresh subject\n\nA zebra crossing was painted on the road today.\n",
    )

    before = {query.text for query in make_queries(notes, limit)}
    after = {query.text for query in make_queries([*notes, new], limit)}

    assert len(before - after) <= len(before) // 20
