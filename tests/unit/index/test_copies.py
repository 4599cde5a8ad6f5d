"""A thousand copies of one entry are one candidate, and they are counted."""

from __future__ import annotations

from memd.index.copies import count_copies, find_distinct, hashes_of
from memd.index.keyword import Scope
from tests.support.indexes import hash_of, new_index, publish


def test_copies_crowd_nobody_out() -> None:
    # given: 835 copies of one entry, and five other texts that match less well
    db = new_index(extension=False)
    for number in range(835):
        publish(db, f"memory/{number:04d}.md", ["the deploy key rotates on friday"])
    for number in range(5):
        publish(db, f"memory/other{number}.md", [f"a deploy of service {number} " + "and more words " * 20])
    # when: the ten best different texts are asked for
    found = find_distinct(db, '"deploy"', 10)
    # then
    hashes = hashes_of(db, [key for key, _ in found])
    assert len(found) == len(set(hashes.values())) == 6
    assert hashes[found[0][0]] == hash_of("the deploy key rotates on friday")


def test_without_copies_the_list_is_that_of_the_keyword_search() -> None:
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
