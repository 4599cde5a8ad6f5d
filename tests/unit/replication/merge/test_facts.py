"""Merges of facts: the newest change of each is used on both machines, and a deletion is a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.lines import Fact
from memd.replication.merge.facts import (
    MAX_LEDGER_ENTRIES,
    MAX_TIME_MS,
    FactChange,
    is_facts_path,
    merge_facts,
    merge_ledgers,
    note_changes,
    read_ledger,
    write_ledger,
)

FIRST, SECOND = "memory/facts.md", "memory/facts-2.md"

CREATED_MS = 1_790_000_000_000

LONG_FUZZ = 10_000

Files = dict[str, str]


def line(fact_id: str, text: str, created_ms: int | None = CREATED_MS) -> str:
    """Return the line of a fact."""
    return fact_lines.write(Fact(fact_id, text, named_category="other", created_ms=created_ms))


def facts(*pairs: tuple[str, str], path: str = FIRST) -> Files:
    """Return a file with facts."""
    return {path: "# Facts\n\n" + "".join(line(fact_id, text) for fact_id, text in pairs)}


def texts(files: Mapping[str, str]) -> list[str]:
    """Return the texts of the facts in some files."""
    return [fact.text for path in sorted(files) for fact in fact_lines.read(files[path], path)]


@dataclass(frozen=True, slots=True)
class FactsSide:
    """The files and the ledger of one machine."""

    files: Files
    ledger: dict[str, FactChange]


def changed(base: FactsSide, files: Files, at_ms: int) -> FactsSide:
    """Return a machine after a change at a time."""
    return FactsSide(files, note_changes(base.ledger, base.files, files, at_ms))


def merged(base: Files, ours: FactsSide, theirs: FactsSide) -> Files:
    """Return the merged files, and check that the other machine's merge has the same facts."""
    result = merge_facts(base, ours.files, theirs.files, ours.ledger, theirs.ledger)
    others = merge_facts(base, theirs.files, ours.files, theirs.ledger, ours.ledger)
    assert fact_lines_of(result) == fact_lines_of(others)
    return result


def fact_lines_of(files: Mapping[str, str]) -> list[str]:
    """Return the lines of facts, sorted."""
    return sorted(line for text in files.values() for line in text.splitlines() if line.startswith("- "))


START = FactsSide(facts(("A1", "likes tea"), ("B1", "lives in Rome")), {})
DELETED = facts(("B1", "lives in Rome"))
EDITED = facts(("A1", "likes coffee"), ("B1", "lives in Rome"))
EDITED_TOO = facts(("A1", "likes water"), ("B1", "lives in Rome"))


@pytest.mark.parametrize(
    ("ours", "ours_ms", "theirs", "theirs_ms", "expected"),
    [
        (EDITED, 20, EDITED_TOO, 10, ["likes coffee", "lives in Rome"]),
        (EDITED, 10, EDITED_TOO, 20, ["likes water", "lives in Rome"]),
        (DELETED, 20, EDITED, 10, ["lives in Rome"]),
        (DELETED, 10, EDITED, 20, ["likes coffee", "lives in Rome"]),
        (EDITED, 20, DELETED, 10, ["likes coffee", "lives in Rome"]),
        (EDITED, 10, DELETED, 20, ["lives in Rome"]),
        (DELETED, 10, EDITED, 10, ["likes coffee", "lives in Rome"]),
        (DELETED, 10, DELETED, 20, ["lives in Rome"]),
        (DELETED, 10, START.files, 20, ["lives in Rome"]),
        (START.files, 10, EDITED, 20, ["likes coffee", "lives in Rome"]),
        (DELETED, 10, facts(("A1", "likes tea")), 20, []),
    ],
)
def test_newest_change_of_a_fact_is_used(
    ours: Files, ours_ms: int, theirs: Files, theirs_ms: int, expected: list[str]
) -> None:
    result = merged(START.files, changed(START, ours, ours_ms), changed(START, theirs, theirs_ms))
    assert sorted(texts(result)) == expected


def test_equal_times_of_two_edits_have_one_winner_on_both_machines() -> None:
    merged(START.files, changed(START, EDITED, 10), changed(START, EDITED_TOO, 10))


def test_edit_and_deletion_at_one_time_agree_with_the_merged_ledger() -> None:
    ours, theirs = changed(START, DELETED, 10), changed(START, EDITED, 10)
    for ledger in (merge_ledgers(ours.ledger, theirs.ledger), merge_ledgers(theirs.ledger, ours.ledger)):
        assert ledger["A1"] == FactChange(10, is_deleted=False)


def test_facts_that_each_machine_added_are_all_there() -> None:
    ours = changed(START, facts(("A1", "likes tea"), ("B1", "lives in Rome"), ("C1", "ours")), 10)
    theirs = changed(START, facts(("D1", "theirs"), ("A1", "likes tea"), ("B1", "lives in Rome")), 20)
    assert texts(merged(START.files, ours, theirs)) == ["likes tea", "lives in Rome", "ours", "theirs"]


def test_deleted_fact_is_not_restored_by_a_machine_without_a_common_base() -> None:
    ours = changed(START, DELETED, CREATED_MS + 10)
    assert texts(merged({}, ours, FactsSide(START.files, {}))) == ["lives in Rome"]
    assert texts(merged({}, ours, changed(FactsSide({}, {}), START.files, CREATED_MS))) == ["lives in Rome"]


def test_fact_that_was_edited_after_its_deletion_elsewhere_is_restored_without_a_common_base() -> None:
    ours, theirs = changed(START, DELETED, 10), changed(START, EDITED, 20)
    assert sorted(texts(merged({}, ours, theirs))) == ["likes coffee", "lives in Rome"]


def test_fact_without_a_ledger_is_kept_without_a_common_base() -> None:
    result = merged({}, FactsSide(DELETED, {}), FactsSide(EDITED, {}))
    assert sorted(texts(result)) == ["likes coffee", "lives in Rome"]


def test_facts_in_several_parts_stay_in_their_part() -> None:
    base = START.files | facts(("C1", "third"), path=SECOND)
    ours = changed(FactsSide(base, {}), base | facts(("C1", "third"), ("D1", "ours"), path=SECOND), 10)
    theirs = changed(FactsSide(base, {}), base | facts(("C1", "third, edited"), path=SECOND), 20)
    result = merged(base, ours, theirs)
    assert texts({FIRST: result[FIRST]}) == ["likes tea", "lives in Rome"]
    assert texts({SECOND: result[SECOND]}) == ["third, edited", "ours"]


def test_fact_that_moved_to_another_part_appears_once() -> None:
    ours = changed(START, DELETED | facts(("A1", "likes tea"), path=SECOND), 10)
    theirs = changed(START, EDITED, 20)
    assert sorted(texts(merged(START.files, ours, theirs))) == ["likes coffee", "lives in Rome"]


def test_part_that_one_machine_lacks_is_kept() -> None:
    ours = changed(START, START.files | facts(("C1", "third"), path=SECOND), 10)
    assert set(merged(START.files, ours, changed(START, EDITED, 20))) == {FIRST, SECOND}


def test_same_words_under_two_new_ids_appear_once() -> None:
    ours = changed(START, START.files | {FIRST: START.files[FIRST] + line("C2", "Has a dog.")}, 10)
    theirs = changed(START, START.files | {FIRST: START.files[FIRST] + line("C1", "has a dog")}, 20)
    assert texts(merged(START.files, ours, theirs)) == ["likes tea", "lives in Rome", "has a dog"]


def test_new_fact_with_the_words_of_a_known_one_is_left_out() -> None:
    ours = changed(START, START.files | {FIRST: START.files[FIRST] + line("0A", "Likes tea!")}, 10)
    theirs = changed(START, START.files | {FIRST: START.files[FIRST] + line("C1", "third")}, 20)
    assert texts(merged(START.files, ours, theirs)) == ["likes tea", "lives in Rome", "third"]


def test_title_and_lines_that_are_no_facts_are_kept() -> None:
    base = {FIRST: "# Facts\n\nAbout Ann.\n\n- likes tea\n"}
    ours = {FIRST: "# Facts of Ann\n\nAbout Ann.\n\n- likes tea\n\n> ours\n"}
    theirs = {FIRST: "# Facts\n\nAbout Ann.\n\n- likes tea\n- has a dog\n\n> theirs\n"}
    result = merge_facts(base, ours, theirs, {}, {})[FIRST].splitlines()
    assert [each for each in result if each] == [
        "# Facts of Ann",
        "About Ann.",
        "- likes tea",
        "> ours",
        "> theirs",
        "- has a dog",
    ]


def test_facts_without_comments_are_known_by_their_words() -> None:
    base = {FIRST: "- likes tea\n- lives in Rome\n"}
    ours, theirs = {FIRST: "- likes tea\n"}, {FIRST: "- likes tea\n- lives in Rome\n- has a dog\n"}
    result = merged(base, FactsSide(ours, {}), FactsSide(theirs, {}))
    assert result == {FIRST: "- likes tea\n- has a dog\n"}


def test_line_endings_of_a_file_with_facts_are_kept() -> None:
    base = {FIRST: "# Facts\r\n\r\n- likes tea\r\n"}
    ours = {FIRST: "# Facts\r\n\r\n- likes tea\r\n- ours\r\n"}
    theirs = {FIRST: "# Facts\r\n\r\n- likes tea\r\n- theirs\r\n"}
    assert (
        merge_facts(base, ours, theirs, {}, {})[FIRST]
        == "# Facts\r\n\r\n- likes tea\r\n- ours\r\n- theirs\r\n"
    )


# --- properties ---------------------------------------------------------------------------------------

IDS = ("A1", "B1", "C1", "D1", "E1")
WORDS = ("likes tea", "Likes tea!", "has a dog", "lives in Rome", "住在罗马")


@st.composite
def fact_files(draw: st.DrawFn) -> Files:
    """Return files with facts: some in parts, some without a comment, some with equal ids or words."""
    files: Files = {}
    for path in draw(st.sampled_from([(), (FIRST,), (FIRST,), (FIRST, SECOND)])):
        rows = draw(st.lists(st.tuples(st.sampled_from(("", *IDS)), st.sampled_from(WORDS)), max_size=4))
        files[path] = "# Facts\n\n" + "".join(line(key, text) if key else f"- {text}\n" for key, text in rows)
    return files


def has_unique_facts(files: Files) -> bool:
    """Return whether no id is in some files twice; the user may copy a line."""
    rows = fact_lines_of(files)
    ids = [row.partition("id=")[2].partition(" ")[0] or row for row in rows]
    return len(set(ids)) == len(ids)


def check_sides(base: Files, ours: Files, theirs: Files, times: Sequence[int], *, has_base: bool) -> None:
    """Check that both machines' merges have the same facts, and that these are of one of the machines."""
    start = FactsSide(base, note_changes({}, {}, base, 0))
    mine, others = changed(start, ours, times[0]), changed(start, theirs, times[1])
    result = merged(base if has_base else {}, mine, others)
    lines = [fact_lines_of(files) for files in (base, ours, theirs)]
    assert set(fact_lines_of(result)) <= {*lines[1], *lines[2]}
    if has_base and all(map(has_unique_facts, (base, ours, theirs))):
        assert Counter(fact_lines_of(result)) <= Counter(lines[1]) | Counter(lines[2])
        assert set(lines[0]) & set(lines[1]) & set(lines[2]) <= set(fact_lines_of(result))


@given(
    fact_files(), fact_files(), fact_files(), st.tuples(st.integers(1, 3), st.integers(1, 3)), st.booleans()
)
def test_merge_of_any_facts_is_the_same_on_both_machines(
    base: Files, ours: Files, theirs: Files, times: tuple[int, int], has_base: bool
) -> None:
    check_sides(base, ours, theirs, times, has_base=has_base)


@pytest.mark.long
@settings(max_examples=LONG_FUZZ)
@given(
    fact_files(), fact_files(), fact_files(), st.tuples(st.integers(1, 3), st.integers(1, 3)), st.booleans()
)
def test_long_fuzz_of_facts_is_the_same_on_both_machines(
    base: Files, ours: Files, theirs: Files, times: tuple[int, int], has_base: bool
) -> None:
    check_sides(base, ours, theirs, times, has_base=has_base)


# --- the ledger ---------------------------------------------------------------------------------------

LEDGERS = st.dictionaries(
    st.from_regex(fact_lines.ID_LETTERS, fullmatch=True),
    st.builds(FactChange, st.integers(0, MAX_TIME_MS), st.booleans()),
    max_size=8,
)


@given(LEDGERS)
def test_ledger_is_written_and_read_again(ledger: dict[str, FactChange]) -> None:
    assert read_ledger(write_ledger(ledger)) == ledger


@given(LEDGERS, LEDGERS)
def test_merged_ledgers_are_the_same_on_both_machines(
    one: dict[str, FactChange], other: dict[str, FactChange]
) -> None:
    assert merge_ledgers(one, other) == merge_ledgers(other, one)


@pytest.mark.parametrize(
    "damage",
    [
        "A1",
        "A1\t",
        "A1\t10",
        "A1\t10\t",
        "A1\t10\tgone",
        "A1\t-1\tset",
        "A1\t1e5\tset",
        "A1\t9999999999999999\tset",
        "A1\t١\tset",
        "A 1\t10\tset",
        "../A1\t10\tset",
        "A1\t10\tset\tmore",
        "\0\ufffd",
        "<<<<<<< HEAD",
        "A" * 65 + "\t10\tset",
    ],
)
def test_damaged_lines_of_a_ledger_are_ignored(damage: str) -> None:
    assert read_ledger(f"B1\t10\tset\n{damage}\nC1\t20\tdeleted\n") == {
        "B1": FactChange(10, is_deleted=False),
        "C1": FactChange(20, is_deleted=True),
    }


def test_ledger_keeps_the_newest_changes_up_to_its_limit() -> None:
    ledger = {
        f"id-{number}": FactChange(number, is_deleted=True) for number in range(MAX_LEDGER_ENTRIES + 10)
    }
    kept = read_ledger(write_ledger(ledger))
    assert len(kept) == MAX_LEDGER_ENTRIES
    assert "id-9" not in kept
    assert "id-10" in kept


def test_change_is_later_than_the_one_it_changes_if_the_clock_is_behind() -> None:
    theirs = changed(START, EDITED, 1_000)
    ours = changed(theirs, DELETED, 10)
    assert ours.ledger["A1"] == FactChange(1_001, is_deleted=True)
    assert merge_ledgers(ours.ledger, theirs.ledger)["A1"].is_deleted


def test_change_after_the_last_possible_time_stays_readable() -> None:
    ledger = note_changes({"A1": FactChange(MAX_TIME_MS, is_deleted=False)}, START.files, DELETED, 10)
    assert read_ledger(write_ledger(ledger))["A1"] == FactChange(MAX_TIME_MS, is_deleted=True)


def test_new_fact_has_the_time_of_its_creation() -> None:
    ledger = note_changes({}, {}, START.files | {SECOND: "- no time\n"}, 10)
    assert ledger["A1"] == FactChange(CREATED_MS, is_deleted=False)
    assert sorted(change.at_ms for change in ledger.values()) == [10, CREATED_MS, CREATED_MS]


def test_fact_that_returns_has_the_time_of_its_return() -> None:
    deleted = changed(START, DELETED, CREATED_MS + 10)
    assert changed(deleted, START.files, CREATED_MS + 20).ledger["A1"] == FactChange(
        CREATED_MS + 20, is_deleted=False
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("memory/facts.md", True),
        ("memory/facts-2.md", True),
        ("memory/facts-999.md", True),
        ("memory/facts-0.md", False),
        ("memory/facts-1000.md", False),
        ("memory/FACTS.md", False),
        ("memory/sub/facts.md", False),
        ("facts.md", False),
    ],
)
def test_files_with_facts_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_facts_path(path) is expected
