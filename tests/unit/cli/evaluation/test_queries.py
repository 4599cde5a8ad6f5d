"""Queries that are made from notes."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.cli.evaluation.notes import NoteKind, NoteText, tokens
from memd.cli.evaluation.queries import QueryKind, Wording, make_queries, reordered, with_typo

DAILY = NoteText(
    "memory/2026-03-02.md",
    NoteKind.DAILY,
    "# Archive search\n\nWe moved the archive to heron-12 because Ana Pereira found the vibration of the rack.\n",
    "2026-03-02",
)
OTHER = NoteText(
    "memory/people.md",
    NoteKind.OTHER,
    "# People\n\nThe landlord wants the deposit for the flat by 14 May 2026, says the letter.\n",
)
CHINESE = NoteText(
    "memory/a.md", NoteKind.OTHER, "我们在三月把归档搜索迁移到了新的服务器上，因为机架震动。\n"
)


def as_written(notes: list[NoteText], kind: QueryKind) -> set[str]:
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
        "heron because Pereira found vibration",
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

    assert (query.path, query.line) == ("memory/2026-03-02.md", 3)
    (place,) = query.places
    assert place.path == query.path
    assert place.first_line <= 3 <= place.last_line


def test_copies_of_a_heading_are_places_too_unless_they_are_many() -> None:
    def notes(number: int) -> list[NoteText]:
        return [
            NoteText(f"memory/{at}.md", NoteKind.OTHER, f"# Heron census\n\nword{at}\n")
            for at in range(number)
        ]

    (few,) = [
        each
        for each in make_queries(notes(2), 200)
        if each.kind is QueryKind.HEADING and each.wording is Wording.AS_WRITTEN
    ]
    assert {place.path for place in few.places} == {"memory/0.md", "memory/1.md"}
    assert not any(each.kind is QueryKind.HEADING for each in make_queries(notes(4), 200))


def test_typo_changes_the_longest_word_alone() -> None:
    for number in range(40):
        changed = with_typo("the archive 2026 of Ana", number)
        assert changed is not None
        before, after = "the archive 2026 of Ana".split(), changed.split()
        assert [at for at in range(5) if before[at] != after[at]] == [1]
    assert with_typo("the rack 网关的端口", 1) is None


def test_other_order_has_the_same_words() -> None:
    for number in range(20):
        turned = reordered(("a", "b", "c", "d"), number)
        assert turned is not None
        assert turned != "a b c d"
        assert sorted(turned.split()) == ["a", "b", "c", "d"]
    assert reordered(("one",), 3) is None
    assert reordered(("same", "same"), 3) is None


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
        NoteText,
        st.sampled_from(["memory/a.md", "MEMORY.md", "memory/b.md"]),
        st.sampled_from(NoteKind),
        TEXTS,
    ),
    max_size=5,
    unique_by=lambda note: note.path,
)


@given(NOTES, st.integers(1, 60), st.integers(0, 3))
@example([NoteText("memory/a.md", NoteKind.DAILY, "XðÐfG")], 2, 0)
def test_queries_are_distinct_have_their_place_and_depend_on_no_order(
    notes: list[NoteText], limit: int, seed: int
) -> None:
    queries = make_queries(notes, limit, seed)

    assert len(queries) <= limit
    texts = {note.path: note.text.split("\n") for note in notes}
    for query in queries:
        assert tokens(query.text)
        assert query.places[0].path == query.path
        assert query.places[0].first_line <= query.line <= query.places[0].last_line <= len(texts[query.path])
    assert max(Counter(each.text.casefold() for each in queries).values(), default=1) == 1
    shuffled = list(notes)
    random.Random(seed).shuffle(shuffled)
    assert make_queries(shuffled, limit, seed) == queries


@pytest.mark.parametrize("limit", [60, 200])
def test_one_new_note_changes_few_queries(limit: int) -> None:
    words = [
        f"{first}{second}" for first in ("heron", "otter", "maple", "quartz") for second in "abcdefghijklmnop"
    ]
    notes = [
        NoteText(
            f"memory/{at}.md",
            NoteKind.OTHER,
            f"# About {words[at]}\n\nThe {words[at]} needs {words[-at]}box and {words[at - 7]}lid before winter.\n",
        )
        for at in range(60)
    ]
    new = NoteText(
        "memory/new.md",
        NoteKind.OTHER,
        "# Fresh subject\n\nA zebra crossing was painted on the road today.\n",
    )

    before = {query.text for query in make_queries(notes, limit)}
    after = {query.text for query in make_queries([*notes, new], limit)}

    assert len(before - after) <= len(before) // 20
