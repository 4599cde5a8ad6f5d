"""The vocabulary of an index, and suggestions for misspelled words."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.index import vocabulary
from memd.index.database import READER, WRITER, connect
from memd.index.schema import migrate
from memd.index.vocabulary import load_vocabulary, stem_of, stemmed_languages, suggest_words
from memd.system.sqlite import Database
from memd.text.language.spelling import index_text
from memd.text.query.identifiers import extra_words

TEXTS = (
    "The watchdog restarts Kubernetes, agreeing with the receiver.",
    "Der Schlüssel für das Büro liegt in der Schublade, nicht im Watchdog. 部署",
)


@pytest.fixture
def db(tmp_path: Path) -> Database:
    """A reader of an index with two texts."""
    path = tmp_path / "index.sqlite"
    writer = connect(path, WRITER)
    migrate(writer)
    for key, text in enumerate(TEXTS, 1):
        writer.execute(
            "INSERT INTO chunks_fts (rowid, text, extra) VALUES (?, ?, ?)",
            (key, index_text(text), extra_words([text])[0]),
        )
    writer.close()
    return connect(path, READER)


def test_vocabulary_has_words_as_fts5_stores_them(db: Database) -> None:
    words = load_vocabulary(db)

    assert all(word in words for word in ("watchdog", "kubernet", "agre", "schlussel"))
    assert not any(word in words for word in ("in", "部", "schlusselǀ", "watchdogs"))


def test_numbers_take_no_place_of_words_in_the_vocabulary(
    db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vocabulary, "MAX_WORDS", 50)
    writer = connect(tmp_path / "index.sqlite", WRITER)
    numbers = " ".join(f"{number}" for number in range(1000, 1200))
    writer.execute("INSERT INTO chunks_fts (rowid, text) VALUES (9, ?)", (numbers,))
    writer.close()

    words = load_vocabulary(db)

    assert "watchdog" in words
    assert "1000" not in words


def test_reader_stays_read_only_after_loading_the_vocabulary(db: Database) -> None:
    db.execute("BEGIN")
    load_vocabulary(db)
    db.execute("ROLLBACK")

    assert db.pragma("query_only") == 1
    assert len(load_vocabulary(db)) == len(load_vocabulary(db))


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("watchdgo", ["watchdog"]),
        ("Wachtdog", ["watchdog"]),
        ("kubrenetes", ["kubernet"]),
        ("recievers", ["receiv"]),
        ("agre", []),
        ("schlüsel", ["schlussel"]),
        ("watchdogs", []),
        ("two words", []),
        ("部署了", []),
        ("", []),
    ],
)
def test_misspelled_word_has_suggestions(db: Database, word: str, near: list[str]) -> None:
    assert suggest_words(db, load_vocabulary(db), word) == near


def test_every_suggestion_finds_its_text(db: Database) -> None:
    assert stem_of(db, "agree") == "agre"
    assert stem_of(db, "agre") == "agr"


def test_languages_of_an_index_are_detected(db: Database) -> None:
    assert stemmed_languages(db) == ("de",)


def test_an_empty_index_has_no_words(tmp_path: Path) -> None:
    writer = connect(tmp_path / "index.sqlite", WRITER)
    migrate(writer)

    assert len(load_vocabulary(writer)) == 0
    assert stemmed_languages(writer) == ()
    writer.close()
