"""Snippets of hits: windows, copies, locations, and no repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from memd.index.database import transaction
from memd.index.keyword import Scope
from memd.index.transcripts import StoredTranscript, store_transcript
from memd.search.choose import MAX_SHOWN_SHARE
from memd.search.snippets import MAX_SNIPPET_CHARACTERS, MAX_SPANS
from memd.system.sqlite import Database
from memd.text.cut.chunking import Chunk, chunk_text
from memd_client.messages import Hit
from tests.support.indexes import hash_of, is_exact, new_index, publish, publish_note, search, search_spec

ENTRY = (
    "the freezer alarm of the bakery went off at four in the morning and nobody was there to hear it at all"
)
PATH = "memory/a.md"


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index(extension=False)


def ask(
    db: Database, query: str, max_results: int = 6, is_current: Callable[[Hit], bool] = lambda _: True
) -> list[Hit]:
    """Return the hits of a keyword search, relevant or not."""
    return search(db, search_spec(query, max_results=max_results, min_score=0.0), is_current=is_current).hits


def section(name: str, lines: int) -> str:
    """Return a section with one entry per line."""
    return "\n".join(
        [f"## {name}", *(f"- {name.lower()} entry {number} of the list" for number in range(lines))]
    )


# --- windows --------------------------------------------------------------------------------------


def test_a_snippet_includes_neighbouring_lines_up_to_the_headings(db: Database) -> None:
    # given: a section of some chunks between two others, and a query for one line of it
    text = "\n".join([section("Before", 8), section("Middle", 18), "- the freezer key", section("After", 8)])
    chunks = publish_note(db, PATH, text)
    wanted = next(each for each in chunks if "freezer" in each.text)
    # when
    hit = ask(db, "freezer")[0]
    # then: it shows more than the chunk, up to the headings
    assert is_exact(hit, {PATH: text})
    assert len(hit.snippet) > len(wanted.text)
    assert hit.snippet == "\n".join([section("Middle", 18), "- the freezer key"])


def test_a_snippet_stays_within_its_length_limit(db: Database) -> None:
    text = section("List", 200).replace("entry 100 ", "freezer ")
    publish_note(db, PATH, text)
    hit = ask(db, "freezer")[0]
    assert is_exact(hit, {PATH: text})
    assert "freezer" in hit.snippet
    assert MAX_SNIPPET_CHARACTERS - 40 < len(hit.snippet) <= MAX_SNIPPET_CHARACTERS


def test_a_snippet_grows_towards_other_matches(db: Database) -> None:
    # given: more lines than a snippet has; those below the wanted one match the query too
    above = "\n".join(
        f"- above {number} nothing to see in this line, which is only there" for number in range(12)
    )
    below = "\n".join(
        f"- alarm {number} was heard here, and this line was written down" for number in range(12)
    )
    text = f"{above}\n- freezer alarm, the one that counts\n{below}"
    publish_note(db, PATH, text)

    hit = ask(db, "freezer alarm")[0]

    assert "freezer" in hit.snippet
    assert hit.snippet.count("- alarm") > hit.snippet.count("- above")


def test_a_snippet_of_a_long_chunk_shows_the_matching_lines(db: Database) -> None:
    # given: chunks of configured sizes
    text = section("List", 60).replace("entry 30 ", "freezer ")
    publish_note(db, PATH, text, cut=lambda content, _: chunk_text(content, 1000, 0))
    hit = ask(db, "freezer")[0]
    assert is_exact(hit, {PATH: text})
    assert "freezer" in hit.snippet
    assert len(hit.snippet) <= MAX_SNIPPET_CHARACTERS


def test_a_hit_has_its_citation(db: Database) -> None:
    publish_note(db, PATH, "# Title\n\nthe freezer key\nis with Anna")
    publish_note(db, "notes/b.md", "a freezer")
    found = {hit.path: hit for hit in ask(db, "freezer")}
    assert (found[PATH].start_line, found[PATH].end_line, found[PATH].citation) == (1, 4, f"{PATH}#L1-L4")
    assert (found["notes/b.md"].start_line, found["notes/b.md"].citation) == (1, "notes/b.md#L1")
    assert {hit.source for hit in found.values()} == {"memory"}


def test_a_transcript_hit_has_the_transcripts_line_numbers(db: Database) -> None:
    publish_note(db, "sessions/s.jsonl", "user: hello\nuser: the freezer key", source="sessions")
    with transaction(db):
        store_transcript(db, "sessions/s.jsonl", StoredTranscript([7, 12], redactions=0))
    hit = ask(db, "freezer")[0]
    assert (hit.start_line, hit.end_line, hit.source) == (7, 12, "sessions")
    assert hit.citation == "sessions/s.jsonl#L7-L12"


def test_an_explained_hit_has_the_line_of_the_file_for_each_line_of_its_snippet(db: Database) -> None:
    publish_note(db, PATH, "# Title\n\nthe freezer key")
    publish_note(db, "sessions/s.jsonl", "user: hello\nuser: the freezer\nuser: key", source="sessions")
    with transaction(db):
        store_transcript(db, "sessions/s.jsonl", StoredTranscript([7, 9, 12], redactions=0))
    explained = search(db, search_spec("freezer", min_score=0.0, explain=True)).hits
    lines = {hit.path: (hit.explain or {}).get("lines") for hit in explained}
    assert lines == {PATH: [1, 2, 3], "sessions/s.jsonl": [7, 9, 12]}
    assert {hit.explain is None for hit in ask(db, "freezer")} == {True}


# --- no repetitions -------------------------------------------------------------------------------


def test_every_hit_shows_new_text_and_every_match_is_shown(db: Database) -> None:
    """Chunks overlap and snippets grow: a chunk mostly shown by better hits is skipped."""
    text = "\n".join(f"- freezer entry {number} of the long list of what was seen" for number in range(60))
    chunks = publish_note(db, PATH, text)

    hits = ask(db, "freezer", max_results=20)

    assert 3 < len(hits) < len(chunks)
    seen: Counter[int] = Counter()
    for hit in hits:
        lines = range(hit.start_line, hit.end_line + 1)
        assert sum(line not in seen for line in lines) >= (1 - MAX_SHOWN_SHARE) * len(lines)
        seen.update(lines)
    assert set(seen) == set(range(1, 61))
    assert max(seen.values()) == 1
    assert not [
        (one.citation, other.citation)
        for one in hits
        for other in hits
        if one is not other and one.snippet in other.snippet
    ]


@pytest.mark.parametrize(("first_line", "is_hit"), [(8, True), (7, True), (6, False), (5, False)])
def test_a_chunk_mostly_shown_by_better_hits_is_skipped(db: Database, first_line: int, is_hit: bool) -> None:
    # given: twelve lines that fill a snippet, and a chunk of nine lines that overlaps them
    lines = [f"- entry {number:02d} of the list, which is about what was seen" for number in range(1, 21)]
    lines[0] += " freezer freezer"
    lines[12] += " freezer"

    def cut(first: int, last: int) -> Chunk:
        text = "\n".join(lines[first - 1 : last])
        return Chunk(first, last, text, hash_of(text), start=len("\n".join([*lines[: first - 1], ""])))

    publish_note(db, PATH, "\n".join(lines), cut=lambda *_: [cut(1, 12), cut(first_line, first_line + 8)])
    # when
    hits = ask(db, "freezer")
    # then: with six of nine lines shown, the chunk is a hit; with seven, it is skipped
    assert len(hits[0].snippet) <= MAX_SNIPPET_CHARACTERS
    assert (hits[0].start_line, hits[0].end_line) == (1, 12)
    assert [(hit.start_line, hit.end_line) for hit in hits[1:]] == ([(13, first_line + 8)] if is_hit else [])


def test_copies_collapse_into_one_hit_with_a_count(db: Database) -> None:
    for number in range(40):
        publish(db, f"memory/2026-10-{number:02d}.md", [ENTRY])
    publish(db, "memory/other.md", ["the freezer is a different one"])

    hits = ask(db, "freezer alarm")

    assert [(hit.path, hit.copies) for hit in hits] == [("memory/2026-10-39.md", 40), ("memory/other.md", 1)]


def test_near_duplicates_collapse_into_the_best_hit_with_a_count(db: Database) -> None:
    # given: one entry in three wordings, one of them in two files
    for name, changed in (("a", "four"), ("b", "five"), ("c", "five"), ("d", "six")):
        publish(db, f"memory/{name}.md", [ENTRY.replace("four", changed)])

    hits = ask(db, "freezer alarm at five")

    assert len(hits) == 1
    assert "at five" in hits[0].snippet
    assert hits[0].copies == 4


def test_near_duplicates_outside_the_scope_are_not_counted(db: Database) -> None:
    for path, source in ((PATH, "memory"), ("memory/b.md", "memory"), ("sessions/s.jsonl", "sessions")):
        publish(db, path, [ENTRY], source=source)
    publish(db, "memory/c.md", [ENTRY.replace("four", "five")])

    everywhere = ask(db, "freezer alarm at four")
    conversations = search(db, search_spec("freezer", scope=Scope(("sessions",)))).hits

    assert [hit.path for hit in everywhere] == ["memory/b.md"]  # a note before a transcript
    assert [(hit.path, hit.copies) for hit in conversations] == [("sessions/s.jsonl", 1)]


def test_different_short_texts_are_separate_hits(db: Database) -> None:
    publish(db, "memory/a.md", ["standup at 9"])
    publish(db, "memory/b.md", ["standup at 10"])
    assert len(ask(db, "standup")) == 2


def test_copies_outside_the_scope_are_neither_shown_nor_counted(db: Database) -> None:
    for path, source in ((PATH, "memory"), ("memory/b.md", "memory"), ("sessions/s.jsonl", "sessions")):
        publish(db, path, [ENTRY], source=source)
    hit = ask(db, "freezer")[0]
    assert (hit.path, hit.copies) == ("memory/b.md", 3)  # a note before a transcript
    scoped = search(db, search_spec("freezer", scope=Scope(("sessions",)))).hits[0]
    assert (scoped.path, scoped.copies) == ("sessions/s.jsonl", 1)


# --- text no longer on disk -----------------------------------------------------------------------


def test_a_deleted_text_is_replaced_by_its_copy(db: Database) -> None:
    for name in "ab":
        publish(db, f"memory/{name}.md", [ENTRY])
    publish(db, "memory/alone.md", ["the freezer stands alone"])

    hits = ask(db, "freezer", is_current=lambda hit: hit.path == "memory/a.md")

    assert [hit.path for hit in hits] == ["memory/a.md"]


def test_stale_hits_are_replaced_by_further_candidates(db: Database) -> None:
    for number in range(30):
        publish(db, f"memory/{number:02d}.md", [f"freezer {'word ' * number}{number}"])
    gone = {f"memory/{number:02d}.md" for number in range(10)}

    hits = ask(db, "freezer", is_current=lambda hit: hit.path not in gone)

    assert [hit.path for hit in hits] == [f"memory/{number:02d}.md" for number in range(10, 16)]


def test_a_near_duplicate_replaces_a_stale_better_hit(db: Database) -> None:
    publish(db, "memory/gone.md", [ENTRY.replace("four", "five")])
    publish(db, "memory/there.md", [ENTRY])

    hits = ask(db, "freezer alarm at five", is_current=lambda hit: hit.path != "memory/gone.md")

    assert [hit.path for hit in hits] == ["memory/there.md"]


# --- matched terms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("who heard the alarms", ["alarm"]),
        ("the frezer of the bakery", ["freezer", "bakery"]),
        ('"four in the morning"', ["four in the morning"]),
        ("alarm code POL-358", ["alarm"]),
    ],
)
def test_a_hit_has_the_spans_of_its_matched_terms(db: Database, query: str, terms: list[str]) -> None:
    publish(db, PATH, [ENTRY])
    hit = ask(db, query)[0]
    assert [hit.snippet[start:end] for start, end in hit.spans] == terms


def test_spans_are_limited(db: Database) -> None:
    publish(db, PATH, ["alarm " * 100])
    assert len(ask(db, "alarm")[0].spans) == MAX_SPANS


# --- scores ---------------------------------------------------------------------------------------


def test_scores_descend_and_min_score_applies_to_shown_scores(db: Database) -> None:
    publish(db, "memory/other.md", [f"something else {number}" for number in range(40)])
    for number in range(8):
        publish(
            db,
            f"memory/{number}.md",
            ["freezer " + " ".join(f"word{number}x{each}" for each in range(7 * number))],
        )
    everything = ask(db, "freezer", max_results=8)
    shown = [hit.score for hit in everything]
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) == 8

    for lowest in (shown[3] - 0.0001, shown[3] + 0.0001, 1.1):
        kept = search(db, search_spec("freezer", max_results=8, min_score=lowest)).hits
        assert [hit.path for hit in kept] == [hit.path for hit in everything if hit.score >= lowest]


def test_every_hit_has_its_cosine_and_bm25(db: Database) -> None:
    publish(db, PATH, [ENTRY])
    hit = ask(db, "freezer")[0]
    assert hit.vector_score is None
    assert hit.text_score is not None
    assert hit.text_score > 0
