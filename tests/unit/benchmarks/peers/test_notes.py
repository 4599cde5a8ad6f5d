"""Notes that peers are compared over: the same in every run, and the endpoint can tell them from questions."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.peers.notes import PLANTED, make_questions, planted_name, write_notes
from benchmarks.peers.server import QUESTION_CHARACTERS


def test_the_same_chance_writes_the_same_notes(tmp_path: Path) -> None:
    # given two folders
    sizes = [write_notes(tmp_path / name, 15, random.Random(3)) for name in ("one", "other")]
    # then they hold the same
    texts = [
        {path.name: path.read_text() for path in (tmp_path / name).iterdir()} for name in ("one", "other")
    ]
    assert texts[0] == texts[1]
    assert sizes[0] == sizes[1] > 15_000


def test_every_planted_note_is_there_and_too_long_for_a_question(tmp_path: Path) -> None:
    # when notes are written
    write_notes(tmp_path / "notes", 15, random.Random(3))
    # then each planted one says its sentence, and has more characters than a question may
    for name, (says, _) in PLANTED.items():
        text = (tmp_path / "notes" / planted_name(name)).read_text()
        assert says in text
        assert len(text) > QUESTION_CHARACTERS


def test_questions_differ_and_are_short_enough_to_be_taken_for_questions(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 60, random.Random(3))
    questions = make_questions(tmp_path / "notes", 400, random.Random(3)) + [
        question for _, question in PLANTED.values()
    ]
    assert len(set(questions)) == 420
    assert max(map(len, questions)) <= QUESTION_CHARACTERS
