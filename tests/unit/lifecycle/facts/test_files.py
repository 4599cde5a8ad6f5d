"""Facts are edited in place, and continue in a next file when one is full."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.files import edit_fact
from memd.lifecycle.facts.lines import PATH, TITLE, read
from memd.lifecycle.files.writing import find_parts
from memd.sources.capacity import SourceLimits
from memd_client.errors import (
    BadParamsError,
    FactChangedError,
    FactMissingError,
    MemoryDisabledError,
    NoteUnwritableError,
)
from memd_client.facts import CaptureFactsParams, FactsParams, MemoryEditParams
from tests.unit.lifecycle.facts_fixture import FactsFixture

TEA = "- I like tea <!-- fact id=01A importance=0.9 category=preference created=2026-11-22T10:00:00Z -->"
GATE = "- the gate code is 12 <!-- fact importance=0.2 -->"
FILE = f"# Facts\n\n{TEA}\n  * Anna lives in Lisbon\r\n\nSome prose.\n{GATE}"


def edit(markdown: str, fact_id: str, text: str, **params: object) -> str:
    """Return the file after an edit."""
    return edit_fact(markdown, MemoryEditParams(id=fact_id, text=text, **params)).markdown  # type: ignore[arg-type]


def id_of(text: str) -> str:
    """Return the id of the fact of a text in the file."""
    return next(each.id for each in fact_lines.read(FILE) if each.text == text)


def test_the_text_changes_and_what_is_known_of_the_fact_stays() -> None:
    edited = edit_fact(FILE, MemoryEditParams("01A", "I like green tea"))

    assert edited.markdown == FILE.replace("I like tea", "I like green tea")
    assert (edited.fact.id, edited.fact.importance, edited.fact.line) == ("01A", 0.9, 3)


def test_a_line_written_by_hand_stays_one_and_gets_the_id_of_its_new_text() -> None:
    edited = edit_fact(FILE, MemoryEditParams(id_of("Anna lives in Lisbon"), "Anna lives in Porto"))

    assert edited.markdown == FILE.replace("Lisbon", "Porto")
    assert edited.fact.id == fact_lines.read(edited.markdown)[1].id != id_of("Anna lives in Lisbon")


def test_values_that_are_given_are_written_and_the_id_is_kept_from_then_on() -> None:
    old = id_of("Anna lives in Lisbon")
    params = MemoryEditParams(old, "Anna lives in Porto", importance=1.0, category="entity")

    edited = edit_fact(FILE, params)

    line = f"  * Anna lives in Porto <!-- fact id={old} importance=1 category=entity -->\r\n"
    assert edited.markdown == FILE.replace("  * Anna lives in Lisbon\r\n", line)
    assert (edited.fact.id, edited.fact.category) == (old, "entity")


def test_a_comment_that_says_little_says_all_afterwards() -> None:
    old = id_of("the gate code is 12")

    last = edit(FILE, old, "the gate code is 13").rpartition("\n")[2]

    assert last.startswith(f"- the gate code is 13 <!-- fact id={old} importance=0.2 category=")


def test_an_edit_without_changes_keeps_the_file() -> None:
    assert edit(FILE, "01A", " I like\ttea ") == FILE


def test_a_fact_that_is_gone_or_says_something_else_by_now_is_an_error_of_its_own() -> None:
    with pytest.raises(FactMissingError, match="01B"):
        edit(FILE, "01B", "x")
    with pytest.raises(FactChangedError, match="01A"):
        edit(FILE, "01A", "I like coffee", expected_text="I love tea")
    assert "coffee" in edit(FILE, "01A", "I like coffee", expected_text="I like  tea")


def test_what_another_fact_says_already_is_not_said_twice() -> None:
    edited = edit_fact(FILE, MemoryEditParams("01A", "anna lives in LISBON!"))

    assert edited.markdown == FILE
    assert edited.twin is not None
    assert edited.twin.text == "Anna lives in Lisbon"


@given(text=st.text(min_size=1, max_size=80).filter(lambda text: any(map(str.isalnum, text))))
def test_whatever_a_text_holds_it_stays_one_line_and_the_others_are_as_they_were(text: str) -> None:
    edited = edit_fact(FILE, MemoryEditParams("01A", text))

    before, after = FILE.split("\n"), edited.markdown.split("\n")
    assert after[:2] + after[3:] == before[:2] + before[3:]
    assert edited.twin is not None or (edited.fact.id, edited.fact.text) == ("01A", fact_lines.one_line(text))


# --- by way of the agent's facts


def test_an_edit_is_on_disk_and_recalled(tmp_path: Path) -> None:
    stage = FactsFixture(tmp_path)
    stored = stage.store("I prefer dark mode", importance=0.8)

    reply = stage.run(
        lambda: stage.facts.edit(
            MemoryEditParams(stored.id, "I prefer light mode", expected_text="I prefer dark mode")
        )
    )

    assert (reply.id, reply.stored, reply.line) == (stored.id, True, stored.line)
    (fact,) = stage.recall("").facts
    assert (fact.id, fact.text, fact.importance) == (stored.id, "I prefer light mode", 0.8)


def test_an_edit_to_what_another_fact_says_names_it(tmp_path: Path) -> None:
    stage = FactsFixture(tmp_path)
    one, other = stage.store("I prefer dark mode"), stage.store("Anna lives in Lisbon")
    held = stage.file.read_bytes()

    reply = stage.run(lambda: stage.facts.edit(MemoryEditParams(other.id, "I prefer dark mode.")))

    assert (reply.stored, reply.id, reply.duplicate_of) == (False, other.id, one.id)
    assert reply.duplicate_text == "I prefer dark mode"
    assert stage.file.read_bytes() == held


def test_nothing_comes_about_by_an_edit_that_fails(tmp_path: Path) -> None:
    stage = FactsFixture(tmp_path / "none")

    with pytest.raises(FactMissingError):
        stage.run(lambda: stage.facts.edit(MemoryEditParams("01A", "x")))
    with pytest.raises(BadParamsError):
        stage.run(lambda: stage.facts.edit(MemoryEditParams("01A", "!?")))
    stage.host.turn_off()
    with pytest.raises(MemoryDisabledError):
        stage.run(lambda: stage.facts.edit(MemoryEditParams("01A", "x")))

    assert not (tmp_path / "none").exists()


def test_facts_are_listed_page_by_page_the_newest_first(tmp_path: Path) -> None:
    stage = FactsFixture(tmp_path)
    for number in range(5):
        stage.store(f"fact number {number}", created_ms=1_000 * number)

    pages = [
        stage.run(lambda offset=offset: stage.facts.list_all(FactsParams(offset=offset, limit=2)))  # type: ignore[misc]
        for offset in (0, 2, 4, 6)
    ]

    assert [[fact.text[-1] for fact in page.facts] for page in pages] == [["4", "3"], ["2", "1"], ["0"], []]
    assert {page.total for page in pages} == {5}


SECOND = "memory/facts-2.md"

LIMIT = 250


@pytest.fixture
def stage(tmp_path: Path) -> FactsFixture:
    """Facts so long that two fill a file."""
    stage = FactsFixture(tmp_path, auto_capture=True)
    stage.host.given_limits = SourceLimits(LIMIT, 100, 100_000)
    return stage


@pytest.fixture
def three(stage: FactsFixture) -> FactsFixture:
    """Three facts, the last one in a second file."""
    for number in range(3):
        stage.store(f"fact number {number}", id=f"F{number}")
    return stage


def test_a_full_file_continues_in_the_next_one(three: FactsFixture) -> None:
    assert find_parts(three.host.workspace, [PATH]) == [PATH, SECOND]
    again = three.store("and one more", id="F3")
    assert (again.path, again.line) == (SECOND, 4)
    for path in (PATH, SECOND):
        text = (three.host.workspace / path).read_text()
        assert text.startswith(TITLE)
        assert len(text.encode()) <= LIMIT


def test_every_fact_is_listed_and_recalled_with_its_file(three: FactsFixture) -> None:
    listed = three.run(lambda: three.facts.list_all(FactsParams(limit=10)))
    assert [(row.id, row.path, row.line) for row in listed.facts] == [
        ("F2", SECOND, 3),
        ("F1", PATH, 4),
        ("F0", PATH, 3),
    ]
    assert [row.path for row in three.recall("fact number 2", limit=1).facts] == [SECOND]
    assert "fact number 2" in three.facts_for_prompt("fact number 2", force=True).text


def test_a_fact_of_any_file_is_not_stored_twice(three: FactsFixture) -> None:
    for number, path in ((0, PATH), (2, SECOND)):
        again = three.store(f"Fact number {number}.")
        assert (again.stored, again.duplicate_of, again.path) == (False, f"F{number}", path)
    said = [{"role": "user", "content": "Remember that I prefer dark mode"}]
    first = three.run(lambda: three.facts.capture(CaptureFactsParams(said)))
    assert [each.path for each in first.stored] == [SECOND]
    second = three.run(lambda: three.facts.capture(CaptureFactsParams(said)))
    assert [each.reason for each in second.skipped] == ["duplicate"]


def test_a_fact_of_the_second_file_is_edited_and_forgotten_there(three: FactsFixture) -> None:
    first = (three.host.workspace / PATH).read_bytes()
    edited = three.run(lambda: three.facts.edit(MemoryEditParams("F2", "something else")))
    assert (edited.path, edited.line, edited.stored) == (SECOND, 3, True)
    twin = three.run(lambda: three.facts.edit(MemoryEditParams("F2", "Fact number 0")))
    assert (twin.stored, twin.duplicate_of) == (False, "F0")
    gone = three.forget(id="F2").forgotten
    assert (gone.text, gone.path) == ("something else", SECOND)
    assert (three.host.workspace / SECOND).read_text() == TITLE
    assert (three.host.workspace / PATH).read_bytes() == first
    with pytest.raises(FactMissingError):
        three.run(lambda: three.facts.edit(MemoryEditParams("F2", "again")))


def test_a_line_copied_into_the_second_file_is_a_fact_of_its_own(three: FactsFixture) -> None:
    (three.host.workspace / SECOND).write_text("- other words <!-- fact id=F0 -->\n- fact number 1\n")
    rows = {row.text: row for row in three.recall("", limit=10).facts if row.path == SECOND}
    assert len({row.id for row in three.recall("", limit=10).facts}) == 4
    assert three.forget(id=rows["other words"].id).forgotten.text == "other words"
    assert (three.host.workspace / SECOND).read_text() == "- fact number 1\n"
    assert [row.text for row in three.recall("", limit=10).facts if row.id == "F0"] == ["fact number 0"]


def test_a_file_a_person_made_too_large_is_read_up_to_the_limit_and_left_alone(stage: FactsFixture) -> None:
    lines = "".join(f"- fact {number} of a person\n" for number in range(100))
    stage.file.parent.mkdir()
    stage.file.write_text(lines)
    assert stage.recall("", limit=1_000).total == lines[:LIMIT].count("\n")
    assert stage.store("mine").path == SECOND
    assert stage.file.read_text() == lines
    ids = {fact.text: fact.id for fact in read(lines)}
    first = "fact 0 of a person"
    assert stage.forget(id=ids[first]).forgotten.text == first
    assert stage.file.read_text() == lines.replace(f"- {first}\n", "")


def test_an_edit_that_would_not_be_indexed_is_refused(three: FactsFixture) -> None:
    before = (three.host.workspace / PATH).read_bytes()
    with pytest.raises(NoteUnwritableError, match=r"facts\.md is full"):
        three.run(lambda: three.facts.edit(MemoryEditParams("F0", "much longer " * 20)))
    assert (three.host.workspace / PATH).read_bytes() == before
    three.run(lambda: three.facts.edit(MemoryEditParams("F0", "short")))
    assert {row.text for row in three.recall("").facts} == {"short", "fact number 1", "fact number 2"}


def test_a_number_that_is_missing_among_the_files_ends_nothing(three: FactsFixture) -> None:
    (three.host.workspace / SECOND).rename(three.host.workspace / "memory/facts-12.md")
    assert three.recall("").total == 3
    assert three.store("next").path == "memory/facts-12.md"
    (three.host.workspace / "memory/facts-01.md").write_text("- no part\n")
    assert three.recall("", limit=10).total == 4


@pytest.mark.parametrize("limits", [SourceLimits(LIMIT, 1, 100_000), SourceLimits(LIMIT, 100, LIMIT + 20)])
def test_a_fact_that_would_not_be_indexed_is_refused(stage: FactsFixture, limits: SourceLimits) -> None:
    stage.host.given_limits = limits
    stage.store("fact number 0")
    stage.store("fact number 1")
    before = stage.file.read_bytes()
    with pytest.raises(NoteUnwritableError, match="have reached the limit"):
        stage.store("fact number 2")
    assert stage.file.read_bytes() == before
    assert find_parts(stage.host.workspace, [PATH]) == [PATH]
