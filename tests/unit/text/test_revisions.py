"""Statements with another value about the same subject, in several languages, without a model."""

from __future__ import annotations

import pytest

from memd.text.revisions import replaces, updates, weigh_asked
from memd.text.statements import read_statement

OTHER_VALUE = [
    ("The staging database runs on port 5433", "The staging database now runs on port 5544"),
    ("The staging database runs on port 5433", "The staging database runs on port 5544"),
    ("Anna's phone is 555-1234", "Anna's phone is 555-9876"),
    ("We use Redis for sessions", "We no longer use Redis for sessions"),
    ("We use Postgres for sessions", "We use Redis for sessions"),
    ("Deploys happen on Fridays", "Deploys happen on Tuesdays"),
    ("The owner of billing is Anna", "The owner of billing is Bert"),
    ("The API key rotates every 30 days", "The API key rotates every 90 days"),
    ("Die Staging-Datenbank läuft auf Port 5433", "Die Staging-Datenbank läuft jetzt auf Port 5544"),
    ("Wir nutzen Redis für Sitzungen", "Wir nutzen Redis nicht mehr für Sitzungen"),
    (
        "La base de datos de staging usa el puerto 5433",
        "La base de datos de staging ahora usa el puerto 5544",
    ),
    ("La base de test tourne sur le port 5433", "La base de test tourne maintenant sur le port 5544"),
    ("База данных стейджинга работает на порту 5433", "База данных стейджинга теперь работает на порту 5544"),
    ("预发布数据库运行在端口5433", "预发布数据库现在运行在端口5544"),
    ("ステージングはポート5433で動いている", "ステージングは今はポート5544で動いている"),
    ("스테이징 데이터베이스는 포트 5433에서 실행된다", "스테이징 데이터베이스는 이제 포트 5544에서 실행된다"),
]

ANOTHER_SUBJECT = [
    ("staging port 5433", "production port 5432"),
    ("The staging database runs on port 5433", "The production database runs on port 5432"),
    ("Die Staging-Datenbank läuft auf Port 5433", "Die Produktions-Datenbank läuft jetzt auf Port 5432"),
    ("Port of staging: 5433", "Port of production: 5432"),
    ("Anna's phone is 555-1234", "Bert's phone is 555-9876"),
    ("Server alpha has 16 GB RAM", "Server beta has 32 GB RAM"),
    ("Ticket 123 is closed", "Ticket 124 is closed"),
    ("小明的电话是12345", "小红的电话是54321"),
]

OCCASIONS = [
    ("Backup took 12 minutes", "Backup took 14 minutes"),
    ("Slept 7 hours", "Slept 6 hours"),
    ("Weight today: 81.2 kg", "Weight today: 80.9 kg"),
    ("Paid 12 EUR for lunch", "Paid 14 EUR for lunch"),
]

BOTH_TRUE = [
    ("Max likes tea", "Max likes coffee"),
    ("The staging database runs on port 5433", "The staging database runs on port 5433"),
    ("Does staging run on port 5433?", "Does staging run on port 5544?"),
]


@pytest.mark.parametrize(("older", "newer"), OTHER_VALUE)
def test_another_value_of_the_same_subject_replaces_the_first(older: str, newer: str) -> None:
    assert replaces(read_statement(older), read_statement(newer))


@pytest.mark.parametrize(("older", "newer"), [*ANOTHER_SUBJECT, *OCCASIONS, *BOTH_TRUE])
def test_other_subjects_occasions_and_further_facts_replace_nothing(older: str, newer: str) -> None:
    assert not replaces(read_statement(older), read_statement(newer))


def test_in_a_dialogue_other_words_replace_only_what_is_said_to_have_changed() -> None:
    first, second = (
        read_statement("We use Postgres for sessions"),
        read_statement("We use Redis for sessions"),
    )
    changed = read_statement("We use Redis for sessions now")

    assert not replaces(first, second, only_if_changed=True)
    assert replaces(first, changed, only_if_changed=True)


@pytest.mark.parametrize(
    ("query", "older", "newer", "expected"),
    [
        (
            ["bikes", "own"],
            "I own 3 bikes and want to sort the garage, can you help?",
            "Since the garage has room and I own 4 bikes, where do I put them?",
            True,
        ),
        (
            ["test", "coverage"],
            "I want more tests, and coverage has reached 65% after the first run",
            "Help me with one case, since test coverage recently improved to 78%",
            True,
        ),
        (
            ["launch", "deadline"],
            "The deadline of April 1 is for the launch, how do I plan it?",
            "I need to plan for the new launch deadline of April 5",
            True,
        ),
        (
            ["database", "port"],
            "I start the staging database on port 5433, is that fine?",
            "I have moved the production database to port 5432",
            False,
        ),
        (["bikes", "own"], "I own 3 bikes and a car", "I rented 4 rooms and own a car now", False),
    ],
)
def test_what_a_query_asks_about_may_have_another_value_in_other_words(
    query: list[str], older: str, newer: str, expected: bool
) -> None:
    asked = weigh_asked(query, [1.0] * len(query))

    assert updates(read_statement(older), read_statement(newer), asked) is expected
