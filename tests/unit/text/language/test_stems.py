"""Language detection and stemming."""

from __future__ import annotations

import threading

import pytest

from memd.text.language.stems import (
    ALGORITHMS,
    STEM_MARK,
    irregular_forms,
    korean_stem,
    languages_of_query,
    languages_of_text,
    stem_words,
)


def languages(text: str) -> tuple[str, ...]:
    """Return the languages of a text as the index detects them."""
    lowered = text.lower()
    return languages_of_text(set(lowered.split()), lowered)


def asked(query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the languages of a query."""
    return languages_of_query(query.lower().split(), query)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Schlüssel für das Büro liegt in der Schublade.", ("de",)),
        ("La réunion est à dix heures dans la grande salle.", ("fr",)),
        ("La llave está en el cajón, pero los demás no lo saben.", ("es",)),
        ("A chave não está na gaveta, mas ele já sabe disso.", ("pt",)),
        ("La chiave della cantina è nel cassetto.", ("it",)),
        ("De sleutel van het kantoor ligt in de la.", ("nl",)),
        ("Nyckeln till kontoret är i lådan och den är röd.", ("sv",)),
        ("Klucz do biura jest w szufladzie, a nie na stole.", ("pl",)),
        ("Anahtar mutfakta ve bu çok önemli bir şey değil.", ("tr",)),
        ("Ключ от офиса лежит в ящике.", ("ru",)),
        ("Το κλειδί είναι στο συρτάρι.", ("el",)),
        ("المفتاح في الدرج", ("ar",)),
        ("The key to the office is in the drawer, and the café is in Zürich.", ()),
        ("He would die for a week in the van, men said; go on, come over.", ()),
        ("The angle φ and the rate λ are 5 and 6.", ()),
        ("鍵は引き出しにあります", ()),
        ("", ()),
    ],
)
def test_language_of_a_text(text: str, expected: tuple[str, ...]) -> None:
    assert languages(text) == expected


def test_both_languages_of_a_mixed_text_are_detected() -> None:
    german = "Der Schlüssel liegt nicht mehr in der Schublade, sondern bei uns im Büro auf dem Tisch. "
    french = "La clé n'est plus dans le tiroir, elle est chez nous sur la table avec les autres."

    assert languages(german * 2 + french) == ("de", "fr")


@pytest.mark.parametrize(
    ("query", "grammar", "stems"),
    [
        ("what is in the drawer", ("en",), ()),
        ("wo ist der Schlüssel", ("de",), ("de",)),
        ("où est la clé", ("fr",), ("fr",)),
        ("где ключ", ("en", "ru"), ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "tr", "ru")),
        ("дед", ("en", "ru"), ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "tr", "ru")),
        ("what did Müller say", ("en",), ("de", "tr")),
        ("son favourite cake", ("en",), ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "tr")),
    ],
)
def test_languages_of_a_query(query: str, grammar: tuple[str, ...], stems: tuple[str, ...]) -> None:
    assert asked(query) == (grammar, stems)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "häuser", "haus"),
        ("fr", "entreprises", "entreprise"),
        ("es", "reuniones", "reunión"),
        ("pt", "decisões", "decisão"),
        ("it", "riunioni", "riunione"),
        ("ru", "ключами", "ключ"),
        ("tr", "kitapları", "kitap"),
        ("ar", "المفتاح", "مُفتاح"),
    ],
)
def test_forms_of_a_word_share_a_stem(language: str, one: str, other: str) -> None:
    assert set(stem_words(one, [language])) & set(stem_words(other, [language]))


@pytest.mark.parametrize("language", ALGORITHMS)
def test_every_language_has_a_stemmer(language: str) -> None:
    word = {"ru": "ключ", "el": "κλειδί", "ar": "مفتاح"}.get(language, "telefon")

    assert [stem[-1] for stem in stem_words(word, [language])] == [STEM_MARK]


def test_grammar_numbers_and_other_scripts_have_no_stem() -> None:
    assert stem_words(f"der 2026 a1b2 so ключ {'x' * 50}", ["de"]) == []


def test_threads_stem_concurrently() -> None:
    words = " ".join(f"haus{'e' * number}" for number in range(20))
    expected = stem_words(words, ["de"])
    found: list[list[str]] = []

    def work() -> None:
        found.extend(stem_words(words, ["de"]) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 80


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("회의에서", "회의"),
        ("회의에서는", "회의"),
        ("회의는", "회의"),
        ("책을", "책"),
        ("사과를", "사과"),
        ("서울까지", "서울"),
        ("결정했나요", "결정"),
        ("배포합니다", "배포"),
        ("마을", "마을"),
        ("사과", "사과"),
        ("나이", "나이"),
        ("학교", "학교"),
        ("을", "을"),
    ],
)
def test_korean_stems_lose_particles_and_endings(word: str, expected: str) -> None:
    assert korean_stem(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("choose", ("chose", "chosen")),
        ("choosing", ("chose", "chosen")),
        ("bought", ("buy",)),
        ("sells", ("sold",)),
        ("wolves", ("wolf",)),
        ("go", ()),
        ("paint", ()),
        ("ing", ()),
        ("s", ()),
    ],
)
def test_irregular_forms_of_english_are_known(word: str, expected: tuple[str, ...]) -> None:
    assert irregular_forms(word) == expected
