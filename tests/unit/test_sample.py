"""The bundled sample: complete, valid, copied without harm, and its questions have answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memd.sample import QUERY, copy_sample
from memd.settings.agents import load_home
from tests.support.sample_queries import load_sample_queries


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Return a fresh copy of the sample's state directory."""
    copy_sample(tmp_path / "state")
    return tmp_path / "state"


def test_the_sample_is_two_agents_with_local_embeddings_and_no_problem(sample: Path) -> None:
    home = load_home({"OPENCLAW_STATE_DIR": str(sample)}, sample.parent)

    assert (list(home.agents), home.default_agent) == (["main", "zh"], "main")
    assert (home.problems, home.unknown_keys) == ((), ())
    for agent, folder in (("main", "workspace"), ("zh", "workspace-zh")):
        assert home.agents[agent].workspace == sample / folder
        assert home.agents[agent].settings.provider == "local"
        assert home.agents[agent].settings.local.model_path == "minilm"
        assert home.agents[agent].problems == ()


def test_the_sample_is_a_few_dozen_notes_of_every_kind(sample: Path) -> None:
    notes = [path.relative_to(sample).as_posix() for path in sample.rglob("*.md")]

    assert len(notes) >= 30
    assert {"workspace/MEMORY.md", "workspace/USER.md", "workspace-zh/MEMORY.md"} <= set(notes)
    assert any(re.fullmatch(r"workspace/memory/\d{4}-\d\d-\d\d-.+\.md", note) for note in notes)
    assert any(note.count("/") > 2 for note in notes)
    lengths = [len((sample / note).read_text("utf-8")) for note in notes]
    assert sum(length > 1_600 for length in lengths) >= 3, "too few notes are longer than a chunk"


def test_copying_again_keeps_edited_notes_and_brings_back_missing_ones(sample: Path) -> None:
    edited, missing = sample / "workspace" / "USER.md", sample / "workspace" / "MEMORY.md"
    edited.write_text("mine")
    missing.unlink()

    copy_sample(sample)

    assert edited.read_text() == "mine"
    assert missing.read_text("utf-8").startswith("# Long-term memory")


def test_only_notes_and_settings_are_copied(sample: Path) -> None:
    assert {path.suffix for path in sample.rglob("*") if path.is_file()} == {".md", ".json", ".toml"}


def test_every_question_names_a_note_that_exists(sample: Path) -> None:
    questions = load_sample_queries()
    home = load_home({"OPENCLAW_STATE_DIR": str(sample)}, sample.parent)

    assert len(questions) >= 20
    assert {question.agent for question in questions} == {"main", "zh"}
    for question in questions:
        assert (home.agents[question.agent].workspace / question.path).is_file(), question


def test_a_question_for_an_identifier_is_answered_by_one_note_alone(sample: Path) -> None:
    home = load_home({"OPENCLAW_STATE_DIR": str(sample)}, sample.parent)
    exact = [question for question in load_sample_queries() if re.search(r"\d", question.query)]

    assert len(exact) >= 5
    for question in exact:
        workspace = home.agents[question.agent].workspace
        wanted = next(word for word in question.query.split() if re.search(r"\d", word))
        holders = [path for path in workspace.rglob("*.md") if wanted in path.read_text("utf-8")]
        assert holders == [workspace / question.path]


def test_the_first_query_is_one_of_the_questions() -> None:
    assert QUERY in {question.query for question in load_sample_queries()}
