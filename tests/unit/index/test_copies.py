"""Copies of one text are one candidate, and are counted."""

from __future__ import annotations

import apsw

from memd.index.copies import COPIES_AT_ONCE, MOST_COPIES, count_copies, find_copies, find_distinct, hashes_of
from memd.index.keyword import Scope
from tests.support.indexes import hash_of, new_index, publish


def test_copies_do_not_displace_other_texts() -> None:
    # given: 835 copies of one entry, and five other texts that match worse
    db = new_index(extension=False)
    for number in range(835):
        publish(db, f"memory/{number:04d}.md", ["the deploy key rotates on friday"])
    for number in range(5):
        publish(db, f"memory/other{number}.md", [f"a deploy of service {number} " + "and more words " * 20])
    # when: the ten best distinct texts are requested
    found = find_distinct(db, '"deploy"', 10)
    # then
    hashes = hashes_of(db, [key for key, _ in found])
    assert len(found) == len(set(hashes.values())) == 6
    assert hashes[found[0][0]] == hash_of("the deploy key rotates on friday")


def test_few_copies_cost_no_second_search() -> None:
    # given: three copies among the best ten matches
    db = new_index(extension=False)
    publish(db, "memory/a.md", [f"deploy {'word ' * number}" for number in range(20)])
    publish(db, "memory/b.md", ["deploy word "] * 2)
    statements: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    # when
    found = find_distinct(db, '"deploy"', 10)
    # then
    assert sum("MATCH" in sql for sql in statements) == 1
    assert len(set(hashes_of(db, [key for key, _ in found]).values())) == 10


def test_without_copies_the_result_equals_the_keyword_search() -> None:
    db = new_index(extension=False)
    publish(db, "memory/a.md", [f"deploy {'word ' * number}" for number in range(20)])
    found = find_distinct(db, '"deploy"', 10)
    assert len(found) == 10
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_copies_are_counted_within_the_scope() -> None:
    db = new_index(extension=False)
    for number in range(3):
        publish(db, f"memory/{number}.md", ["same"])
    publish(db, "sessions/s.jsonl", ["same"], source="sessions")
    digest = hash_of("same")
    assert count_copies(db, [digest], None) == {digest: 4}
    assert count_copies(db, [digest], Scope(("memory",))) == {digest: 3}
    assert count_copies(db, [digest], Scope(None, "memory/1")) == {digest: 1}


def test_of_ten_thousand_copies_few_are_read_and_matches_are_scored_at_most_twice() -> None:
    # given: more copies than are examined, and one other text
    db = new_index(extension=False)
    publish(db, "memory/many.md", ["the deploy key rotates"] * (MOST_COPIES + 100))
    publish(db, "memory/other.md", ["a deploy of the service, and more words"])
    statements: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    # when
    found = find_distinct(db, '"deploy"', 10)
    copies = find_copies(db, hash_of("the deploy key rotates"), None)
    first = [next(copies) for _ in range(3)]
    # then
    assert len(found) == 1
    assert sum("MATCH" in sql for sql in statements) <= 2
    assert [row.id for row in first] == sorted(row.id for row in first)
    assert sum("c.hash = :hash" in sql for sql in statements) == 1


def test_copies_are_yielded_in_order() -> None:
    db = new_index(extension=False)
    for number in range(3 * COPIES_AT_ONCE):
        publish(db, f"memory/{number:03d}.md", ["same", f"other {number}"])
    found = [row.path for row in find_copies(db, hash_of("same"), None)]
    assert found == [f"memory/{number:03d}.md" for number in reversed(range(3 * COPIES_AT_ONCE))]
