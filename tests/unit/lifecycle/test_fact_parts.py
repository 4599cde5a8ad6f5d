"""Facts that fill one file stand in the next one as well, and every request knows all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.lifecycle.facts.lines import PATH, TITLE, read
from memd.lifecycle.notes.parts import find_parts
from memd.sync.disk.capacity import SourceLimits
from memd_client.errors import FactMissingError, NoteUnwritableError
from memd_client.facts import CaptureFromParams, FactsParams, MemoryEditParams
from tests.unit.lifecycle.facts_stage import Stage

SECOND = "memory/facts-2.md"

LIMIT = 250


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Facts of which two fill a file."""
    stage = Stage(tmp_path, auto_capture=True)
    stage.host.limits = SourceLimits(LIMIT, 100, 100_000)
    return stage


@pytest.fixture
def three(stage: Stage) -> Stage:
    """Three facts, the last one in a second file."""
    for number in range(3):
        stage.store(f"fact number {number}", id=f"F{number}")
    return stage


def test_a_full_file_continues_in_the_next_one(three: Stage) -> None:
    assert find_parts(three.host.workspace, [PATH]) == [PATH, SECOND]
    again = three.store("and one more", id="F3")
    assert (again.path, again.line) == (SECOND, 4)
    for path in (PATH, SECOND):
        text = (three.host.workspace / path).read_text()
        assert text.startswith(TITLE)
        assert len(text.encode()) <= LIMIT


def test_every_fact_is_listed_and_recalled_with_its_file(three: Stage) -> None:
    listed = three.run(lambda: three.facts.list_all(FactsParams(limit=10)))
    assert [(row.id, row.path, row.line) for row in listed.facts] == [
        ("F2", SECOND, 3),
        ("F1", PATH, 4),
        ("F0", PATH, 3),
    ]
    assert [row.path for row in three.recall("fact number 2", limit=1).facts] == [SECOND]
    assert "fact number 2" in three.recall_for("fact number 2", force=True).text


def test_a_fact_of_any_file_is_not_stored_twice(three: Stage) -> None:
    for number, path in ((0, PATH), (2, SECOND)):
        again = three.store(f"Fact number {number}.")
        assert (again.stored, again.duplicate_of, again.path) == (False, f"F{number}", path)
    said = [{"role": "user", "content": "Remember that I prefer dark mode"}]
    first = three.run(lambda: three.facts.capture(CaptureFromParams(said)))
    assert [each.path for each in first.stored] == [SECOND]
    second = three.run(lambda: three.facts.capture(CaptureFromParams(said)))
    assert [each.reason for each in second.skipped] == ["duplicate"]


def test_a_fact_of_the_second_file_is_edited_and_forgotten_there(three: Stage) -> None:
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


def test_a_line_copied_into_the_second_file_is_a_fact_of_its_own(three: Stage) -> None:
    (three.host.workspace / SECOND).write_text("- other words <!-- fact id=F0 -->\n- fact number 1\n")
    rows = {row.text: row for row in three.recall("", limit=10).facts if row.path == SECOND}
    assert len({row.id for row in three.recall("", limit=10).facts}) == 4
    assert three.forget(id=rows["other words"].id).forgotten.text == "other words"
    assert (three.host.workspace / SECOND).read_text() == "- fact number 1\n"
    assert [row.text for row in three.recall("", limit=10).facts if row.id == "F0"] == ["fact number 0"]


def test_a_file_a_person_made_too_large_is_read_up_to_the_limit_and_left_alone(stage: Stage) -> None:
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


def test_an_edit_that_would_not_be_indexed_is_refused(three: Stage) -> None:
    before = (three.host.workspace / PATH).read_bytes()
    with pytest.raises(NoteUnwritableError, match=r"facts\.md is full"):
        three.run(lambda: three.facts.edit(MemoryEditParams("F0", "much longer " * 20)))
    assert (three.host.workspace / PATH).read_bytes() == before
    three.run(lambda: three.facts.edit(MemoryEditParams("F0", "short")))
    assert {row.text for row in three.recall("").facts} == {"short", "fact number 1", "fact number 2"}


def test_a_number_that_is_missing_among_the_files_ends_nothing(three: Stage) -> None:
    (three.host.workspace / SECOND).rename(three.host.workspace / "memory/facts-12.md")
    assert three.recall("").total == 3
    assert three.store("next").path == "memory/facts-12.md"
    (three.host.workspace / "memory/facts-01.md").write_text("- no part\n")
    assert three.recall("", limit=10).total == 4


@pytest.mark.parametrize("limits", [SourceLimits(LIMIT, 1, 100_000), SourceLimits(LIMIT, 100, LIMIT + 20)])
def test_a_fact_that_would_not_be_indexed_is_refused(stage: Stage, limits: SourceLimits) -> None:
    stage.host.limits = limits
    stage.store("fact number 0")
    stage.store("fact number 1")
    before = stage.file.read_bytes()
    with pytest.raises(NoteUnwritableError, match="have reached the limit"):
        stage.store("fact number 2")
    assert stage.file.read_bytes() == before
    assert find_parts(stage.host.workspace, [PATH]) == [PATH]
