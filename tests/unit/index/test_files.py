"""Rows of files and chunks: publishing, forgetting and finding them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memd.index.database import transaction
from memd.index.files import (
    chunks_by_id,
    count_all,
    forget_file,
    generation,
    load_files,
    load_texts,
    publish_file,
    touch_file,
)
from memd.index.keyword import Scope, find_keyword
from memd.system.sqlite import Database
from memd.text.cut.simhash import simhashes
from tests.support.indexes import (
    SPACE,
    chunk,
    file_row,
    find_inconsistencies,
    hash_of,
    new_index,
    publish,
    store,
    unit,
)


def ids_by_text(db: Database) -> dict[str, int]:
    """Return chunk ids by text."""
    return dict(db.execute("SELECT text, id FROM chunks"))


def test_published_file_is_stored_with_its_chunks() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    assert load_files(db) == {"memory/a.md": file_row("memory/a.md")}
    assert (count_all(db).files, count_all(db).chunks) == (1, 2)
    assert find_inconsistencies(db) == []


def test_unchanged_chunks_keep_their_id() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two", "three"])
    before = ids_by_text(db)
    published = publish(db, "memory/a.md", ["one", "zwei", "three"])
    after = ids_by_text(db)
    assert (after["one"], after["three"]) == (before["one"], before["three"])
    assert after["zwei"] not in before.values()
    assert published.chunks_added == 1
    assert published.added_hashes == (hash_of("zwei"),)
    assert find_inconsistencies(db) == []


def test_a_chunk_that_only_moved_gets_its_new_lines() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    publish(db, "memory/a.md", ["new first line", "one"])
    row = chunks_by_id(db, [ids_by_text(db)["one"]])[0]
    assert (row.start_line, row.end_line) == (2, 2)


def test_chunks_below_a_change_keep_their_ids_and_keyword_rows() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two", "three", "two"])
    before = db.execute("SELECT text, id FROM chunks ORDER BY id").fetchall()
    writes = db.total_changes()
    published = publish(db, "memory/a.md", ["zero", "one", "two", "three", "two"])
    after = db.execute("SELECT text, id FROM chunks ORDER BY start_line").fetchall()
    assert [row for row in after if row[0] != "zero"] == before
    assert published.added_hashes == (hash_of("zero"),)
    assert published.generation == 2
    assert db.total_changes() - writes < 4 * len(after)  # a keyword row alone is several writes
    assert find_inconsistencies(db) == []


def test_the_words_of_a_large_file_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def note(texts: Sequence[str]) -> list[int]:
        read.append(len(texts))
        return simhashes(texts)

    monkeypatch.setattr("memd.index.files.simhashes", note)
    db = new_index()
    publish(db, "memory/a.md", [f"line {number}" for number in range(1_200)])
    assert (max(read), sum(read)) == (500, 1_200)
    assert find_inconsistencies(db) == []


def test_equal_chunks_in_one_file_are_both_kept() -> None:
    db = new_index()
    with transaction(db):
        publish_file(db, file_row("memory/a.md"), [chunk("same", 1), chunk("same", 1), chunk("same", 9)], 1)
    assert count_all(db).chunks == 3
    with transaction(db):
        publish_file(db, file_row("memory/a.md"), [chunk("same", 1)], 1)
    assert count_all(db).chunks == 1
    assert find_inconsistencies(db) == []


def test_a_hash_another_file_has_is_not_added() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["shared", "own"])
    published = publish(db, "memory/b.md", ["shared"])
    assert published.added_hashes == ()
    assert find_inconsistencies(db) == []


def test_forgetting_a_file_deletes_chunks_and_keyword_rows() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["walrus"])
    with transaction(db):
        forget_file(db, "memory/a.md")
    assert load_files(db) == {}
    assert find_keyword(db, '"walrus"', 10) == []
    with transaction(db):
        assert forget_file(db, "never/there.md").generation == generation(db)


def test_touching_changes_times_and_nothing_else() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    at = generation(db)
    with transaction(db):
        touch_file(db, file_row("memory/a.md", mtime_ns=77))
    assert load_files(db)["memory/a.md"].mtime_ns == 77
    assert (generation(db), count_all(db).chunks) == (at, 1)


def test_the_generation_grows_with_each_change() -> None:
    db = new_index()
    seen = [generation(db)]
    for texts in (["a"], ["b"], []):
        seen.append(publish(db, "memory/a.md", texts).generation)
    assert seen == sorted(set(seen))
    assert seen[-1] == generation(db)


def test_a_file_may_change_its_source() -> None:
    db = new_index()
    publish(db, "notes/a.md", ["text"], "memory")
    publish(db, "notes/a.md", ["text"], "sessions")
    assert [row.source for row in chunks_by_id(db, list(ids_by_text(db).values()))] == ["sessions"]


def test_chunks_are_returned_in_the_order_of_the_ids() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two", "three"])
    ids = ids_by_text(db)
    wanted = [ids["three"], 999, ids["one"]]
    assert [row.id for row in chunks_by_id(db, wanted)] == [ids["three"], ids["one"]]
    assert load_texts(db, wanted) == {ids["three"]: "three", ids["one"]: "one"}
    assert chunks_by_id(db, []) == []


def test_publishing_reports_added_and_removed_vectors() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    matrix = unit([[1.0, 0.0], [0.0, 1.0]])
    first, second = store(db, ["one", "two"], matrix)
    published = publish(db, "memory/a.md", ["one"])
    assert (published.space_id, published.removed_vectors) == (SPACE.id, (second,))
    back = publish(db, "memory/b.md", ["two", "three"])
    assert back.added_vectors == (second,)
    assert back.added_matrix is not None
    assert np.array_equal(back.added_matrix, matrix[1:])
    assert first != second


def test_keyword_search_ranks_and_breaks_ties_by_id() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["walrus once in a long line of other words here", "walrus walrus", "nothing"])
    publish(db, "memory/b.md", ["tie walrus", "tie walrus"])
    found = find_keyword(db, '"walrus"', 10)
    ids = ids_by_text(db)
    assert found[0][0] == ids["walrus walrus"]
    assert all(score > 0 for _, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    ties = [
        key
        for key, _ in found
        if key not in (found[0][0], ids["walrus once in a long line of other words here"])
    ]
    assert ties == sorted(ties)
    assert find_keyword(db, '"walrus"', 2) == found[:2]


def test_keyword_scope_applies_before_the_limit() -> None:
    db = new_index()
    publish(db, "memory/a.md", [f"walrus {number}" for number in range(300)])
    publish(db, "sessions/b.md", ["something longer about a walrus in the far north of it all"], "sessions")
    for scope in (Scope(("sessions",)), Scope(None, "sessions/"), Scope(("sessions", "memory"), "sess")):
        assert len(find_keyword(db, '"walrus"', 5, scope)) == 1
    assert find_keyword(db, '"walrus"', 5, Scope(("nowhere",))) == []
    assert find_keyword(db, '"walrus"', 5, Scope(())) == []
    assert len(find_keyword(db, '"walrus"', 5, Scope(("memory", "sessions")))) == 5


def test_path_prefix_is_literal() -> None:
    db = new_index()
    publish(db, "memory/100%_a.md", ["walrus"])
    publish(db, "memory/100xya.md", ["walrus"])
    publish(db, "memory/日記/a.md", ["walrus"])
    assert len(find_keyword(db, '"walrus"', 5, Scope(None, "memory/100%_"))) == 1
    assert len(find_keyword(db, '"walrus"', 5, Scope(None, "memory/日"))) == 1


def test_words_are_found_by_their_stem_and_without_accents() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["She painted the café"])
    assert len(find_keyword(db, '"painting"', 5)) == 1
    assert len(find_keyword(db, '"cafe"', 5)) == 1
    assert find_keyword(db, "  ", 5) == []
    assert find_keyword(db, '"painting"', 0) == []


def test_chinese_is_found_by_a_single_character() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["我们明天部署gen服务"])
    for match in ('" 部  署 "', '" 署 "', '"gen"'):
        assert len(find_keyword(db, match, 5)) == 1, match


@pytest.mark.long
def test_a_hundred_rounds_of_editing_keep_the_file_small(tmp_path: Path) -> None:
    db = new_index(f"{tmp_path}/agent.sqlite")

    def texts(round_number: int) -> list[str]:
        return [f"{round_number} {line} " + " ".join(str(line * n) for n in range(80)) for line in range(20)]

    for number in range(20):
        publish(db, f"memory/{number}.md", texts(0))
    fresh = db.execute("PRAGMA page_count").get
    for round_number in range(1, 51):
        for number in range(20):
            publish(db, f"memory/{number}.md", texts(round_number))
    used = db.execute("PRAGMA page_count").get - db.execute("PRAGMA freelist_count").get
    assert used <= fresh * 1.3
    assert find_inconsistencies(db) == []
