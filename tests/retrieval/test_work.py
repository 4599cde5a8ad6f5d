"""What agents did, asked for by commands, errors, files and subjects, and added to an agent's actions.

The set has 14 projects in the formats of seven programs, half of them held out. Shares of right first answers are
printed with `-s`, the wrong ones by name with `--verbose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.models import minilm_path
from tests.support.work_answers import (
    WorkAnswer,
    ask_all,
    count_kinds,
    false_share,
    normal,
    precision,
    report,
)
from tests.support.work_home import WorkHome, serve_work
from tests.support.work_set import ACTIONS, QUESTIONS, load_work_set

MIN_FIRST = {"how": 0.85, "blame": 0.85, "fix": 0.75, "files": 0.6}
"""Minimum share of questions of a kind whose first answer is right."""

MIN_FIRST_BY_KEYWORDS = {"how": 0.7, "blame": 0.85, "fix": 0.7, "files": 0.6}
"""The same without a model."""

MIN_PRECISION = 0.95
MAX_FALSE = 0.01
"""Maximum share of actions without an answer to which something is added."""

SAMPLE = ("kiln", "vereda")
"""Projects of the quick tests, which are not held out."""


@pytest.fixture(scope="module", params=[pytest.param("minilm", marks=pytest.mark.long), "none"])
def home(request: pytest.FixtureRequest) -> Iterator[WorkHome]:
    """A home with all projects."""
    search: dict[str, Any] = {"provider": "none"}
    if request.param == "minilm":
        search = {"provider": "local", "local": {"modelPath": str(minilm_path())}}
    with serve_work(load_work_set(), search) as home:
        yield home


@pytest.fixture(scope="module")
def sample() -> Iterator[WorkHome]:
    """A home with the sample, searched by keywords."""
    projects = [project for project in load_work_set() if project.name in SAMPLE]
    with serve_work(projects, {"provider": "none"}) as home:
        yield home


def is_hybrid(home: WorkHome) -> bool:
    """Return whether the daemon has a model."""
    return home.client.search("tests").mode == "hybrid"


def wrong_ones(answers: list[WorkAnswer], request: pytest.FixtureRequest) -> str:
    """Return the table of shares, with the wrong answers if pytest is verbose."""
    wrong = [str(answer) for answer in answers if not answer.is_right]
    text = "\n".join([report(answers), *(wrong if request.config.option.verbose > 0 else ())])
    print(f"\n{text}")
    return text


def test_work_set_is_large_enough_and_half_of_it_is_held_out() -> None:
    projects = load_work_set()
    sizes = count_kinds(projects)
    sizes_of_held_out = count_kinds(project for project in projects if project.is_held_out)
    questions = [question for project in projects for question in project.questions]
    sessions = [session for project in projects for session in project.sessions]

    assert len(projects) >= 12
    assert sum(project.is_held_out for project in projects) * 2 == len(projects)
    assert len(sessions) >= 300
    assert sum(sizes_of_held_out[kind] for kind in ACTIONS) >= 300
    assert len({session.program for session in sessions}) == 8
    assert min(sizes[kind] for kind in (*QUESTIONS, *ACTIONS)) >= 100
    assert len({question.id for question in questions}) == len(questions)
    assert all(question.has_expectation for question in questions)
    for kind in ACTIONS:
        answered = sum(bool(question.right) for question in questions if question.kind == kind)
        assert 0.35 <= answered / sizes[kind] <= 0.65, kind


def test_no_question_of_the_work_set_contains_its_answer() -> None:
    telling = [
        question.id
        for project in load_work_set()
        for question in project.questions
        if question.kind not in ("blame", "edit", "run")
        and any(
            normal(value).casefold() in f"{question.text}\n{question.output}".casefold()
            for value in question.right
        )
        and normal(question.text) not in question.right
    ]

    assert telling == []


def test_every_answer_of_the_work_set_is_in_a_session_of_its_project() -> None:
    missing = []
    for project in load_work_set():
        names = {session.name.partition("/")[2] for session in project.sessions}
        texts = [
            normal(str(value))
            for session in project.sessions
            for event in session.events
            for value in vars(event).values()
        ]
        for question in project.questions:
            for value in question.right:
                is_there = (
                    value in names
                    if question.kind == "blame"
                    else any(normal(value).strip("`") in text for text in texts)
                )
                if not is_there:
                    missing.append((question.id, value))

    assert missing == []


@pytest.mark.parametrize("kind", QUESTIONS)
def test_questions_about_work_of_two_projects_are_answered_by_keywords(
    sample: WorkHome, kind: str, request: pytest.FixtureRequest
) -> None:
    projects = [project for project in load_work_set() if project.name in SAMPLE]
    answers = ask_all(sample, projects, [kind])

    share = sum(answer.is_right for answer in answers) / len(answers)
    assert share >= MIN_FIRST_BY_KEYWORDS[kind], wrong_ones(answers, request)


@pytest.mark.long
@pytest.mark.model
@pytest.mark.parametrize("kind", QUESTIONS)
def test_questions_about_work_get_the_right_answer_first(
    home: WorkHome, kind: str, request: pytest.FixtureRequest
) -> None:
    answers = ask_all(home, load_work_set(), [kind])
    text = wrong_ones(answers, request)

    floor = (MIN_FIRST if is_hybrid(home) else MIN_FIRST_BY_KEYWORDS)[kind]
    for is_held_out in (False, True):
        half = [answer for answer in answers if answer.project.is_held_out == is_held_out]
        assert sum(answer.is_right for answer in half) >= floor * len(half), text


@pytest.mark.long
@pytest.mark.model
def test_actions_get_what_helps_or_nothing(home: WorkHome, request: pytest.FixtureRequest) -> None:
    answers = ask_all(home, load_work_set(), ACTIONS)
    text = wrong_ones(answers, request)

    for is_held_out in (False, True):
        half = [answer for answer in answers if answer.project.is_held_out == is_held_out]
        assert precision(half) >= MIN_PRECISION, text
        assert false_share(half) <= MAX_FALSE, text
