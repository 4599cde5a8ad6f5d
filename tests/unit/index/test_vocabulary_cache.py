"""The vocabulary of an index, cached in RAM."""

from __future__ import annotations

import pytest

from memd.index.files import generation
from memd.index.vocabulary import MAX_UNKNOWN_TERMS, VOCABULARY_MAX_AGE_S, VocabularyCache
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from tests.support.indexes import new_index, publish


class VocabularyClock:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def db() -> Database:
    """An index with one note."""
    db = new_index(extension=False)
    publish(db, "memory/a.md", ["the watchdog restarts the receiver and the greenhouse hose"])
    return db


def correct(vocabulary: VocabularyCache, db: Database, query: str) -> dict[str, tuple[str, ...]]:
    """Return the corrections of a query's words."""
    return vocabulary.correct(db, generation(db), plan_match(query).terms)


def test_only_words_in_no_text_are_corrected(db: Database) -> None:
    """A word whose stem is in the index counts as known."""
    found = correct(VocabularyCache(), db, "watchdog recievre greenhosue zebra")
    assert found == {"recievre": ("receiv",), "greenhosue": ("greenhouse",)}


def test_other_forms_of_known_words_are_not_corrected(db: Database) -> None:
    assert correct(VocabularyCache(), db, "restarting watchdogs") == {}


@pytest.mark.parametrize("query", ["wtd", "2026", "部署", "a828e60"])
def test_short_words_numbers_and_other_scripts_are_never_corrected(db: Database, query: str) -> None:
    publish(db, "memory/b.md", ["wtf 2027 部門 a828e6f"])
    assert correct(VocabularyCache(), db, query) == {}


def test_words_with_short_stems_are_not_corrected(db: Database) -> None:
    publish(
        db, "memory/b.md", ["we will make a fill of sand on the hill", "the wifi password is on the fridge"]
    )

    assert correct(VocabularyCache(), db, "take the billing") == {}
    assert correct(VocabularyCache(), db, "wi-fi pasword") == {"pasword": ("password",)}


def test_query_with_many_unknown_words_is_not_corrected(db: Database) -> None:
    wrong = "watchdgo recievre greenhosue restrats watchdoog"
    assert len(wrong.split()) == MAX_UNKNOWN_TERMS + 1
    assert correct(VocabularyCache(), db, wrong) == {}
    assert len(correct(VocabularyCache(), db, wrong.rsplit(" ", 1)[0])) == MAX_UNKNOWN_TERMS


def test_new_words_are_suggested_once_the_vocabulary_is_reloaded(db: Database) -> None:
    # given: a vocabulary that was read once
    clock = VocabularyClock()
    vocabulary = VocabularyCache(clock)
    assert correct(vocabulary, db, "kuberntes") == {}
    # when: a word is written
    publish(db, "memory/b.md", ["the kubernetes cluster"])
    # then: it is suggested only once the vocabulary is due to be read again
    clock.now += VOCABULARY_MAX_AGE_S - 1
    assert correct(vocabulary, db, "kuberntes") == {}
    clock.now += 1
    assert correct(vocabulary, db, "kuberntes") == {"kuberntes": ("kubernet",)}


def test_vocabulary_of_an_unchanged_index_is_read_once(db: Database) -> None:
    clock = VocabularyClock()
    vocabulary = VocabularyCache(clock)
    correct(vocabulary, db, "recievre")
    db.execute("DELETE FROM chunks_fts")  # not detected, because the generation stays
    clock.now += 10 * VOCABULARY_MAX_AGE_S
    assert correct(vocabulary, db, "recievre") == {"recievre": ("receiv",)}


def test_languages_follow_every_change(db: Database) -> None:
    vocabulary = VocabularyCache()
    assert vocabulary.languages(db, generation(db)) == ()
    publish(db, "memory/b.md", ["Der Schlüssel für das Büro liegt in der Schublade und nicht auf dem Tisch."])
    assert vocabulary.languages(db, generation(db)) == ("de",)
