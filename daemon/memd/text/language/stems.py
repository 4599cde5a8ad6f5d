"""Language detection and stemming.

FTS5's tokenizer stems English only. For other languages the index stores the Snowball stem of each word next to the
text. `STEM_MARK` ends a stem, so that it matches stems only and never an equal word: the Spanish stem of `notar` is not
the English `not`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Set
from importlib import import_module
from pathlib import Path
from typing import Any

from memd.text.data_files import read_sections
from memd.text.language.spelling import non_ascii_letters, unify_spelling
from memd.text.language.stopwords import FREQUENT_WORDS, KOREAN_ENDINGS, WORDS_OF

STEM_MARK = "ǀ"
"""End of a stem in the index: FTS5 treats it as a letter, no stemmed language uses it, and the English stemmer does not
remove it."""

MIN_WORD_LETTERS = 3
"""Shortest word that is stemmed."""

MAX_WORD_LETTERS = 40
"""Longest word that is stemmed."""

ALGORITHMS = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "sv": "swedish",
    "pl": "polish",
    "tr": "turkish",
    "ru": "russian",
    "ar": "arabic",
    "el": "greek",
}
"""Snowball's names of the stemmed languages."""

LATIN = ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "tr")
"""Languages with the Latin alphabet, recognized by words and letters."""

LETTERS = {
    "de": frozenset("äöüß"),
    "fr": frozenset("àâçèéêëîïôùûœ"),
    "es": frozenset("áéíóúñ¿¡"),
    "pt": frozenset("áâãçéêíóôõú"),
    "it": frozenset("àèéìòù"),
    "nl": frozenset("ëï"),
    "sv": frozenset("åäö"),
    "pl": frozenset("ąćęłńóśźż"),
    "tr": frozenset("çğıöşü"),
}
"""Letters beyond a to z, in lower case."""

_WORD = re.compile(r"\w+")
_FIRST_OTHER = "\u0370"  # scripts other than Latin begin here, with Greek
_SCRIPTS = {
    "el": frozenset(map(chr, range(0x370, 0x400))),
    "ru": frozenset(map(chr, range(0x400, 0x530))),
    "ar": frozenset(map(chr, range(0x600, 0x700))),
}

_TABLES = read_sections(Path(__file__).with_suffix(".txt"))

_LANGUAGES_OF_WORD: dict[str, tuple[str, ...]] = {}
for _language in ("en", *LATIN):
    for _word in WORDS_OF[_language] | set(FREQUENT_WORDS.get(_language, ())):
        _LANGUAGES_OF_WORD[_word] = (*_LANGUAGES_OF_WORD.get(_word, ()), _language)
_ENGLISH_TOO = frozenset(" ".join(_TABLES["english-too"]).split())
_LANGUAGE_WORDS = frozenset(
    word
    for word, languages in _LANGUAGES_OF_WORD.items()
    if "en" not in languages and word not in _ENGLISH_TOO
)

_MIN_SCORE, _MIN_SCORE_PER_WORD = 0.45, 0.015
"""Minimum score of a language, and its increase per word of the text: English prose contains `die` and `sans`."""

_MIN_RELATIVE_SCORE = 0.6
"""Share of the best language's score from which another is accepted too: neighbouring languages share grammar."""

_MIN_UNIQUE_WORDS = 4
"""Grammar words unique to a language that prove it regardless of scores."""

_LONG_PARTICLES = tuple(" ".join(_TABLES["particles-ko"]).split())
_AFTER_FINAL = frozenset("은이을과")
_AFTER_VOWEL = frozenset("는가를와랑")

_FORMS: dict[str, tuple[str, ...]] = {}
for _group in "; ".join(_TABLES["irregular-en"]).split("; "):
    _all = tuple(_group.split())
    for _each in _all:
        _FORMS[_each] = tuple(form for form in _all if form != _each)

_LETTERS_OF_WORDS = 3
"""Letters of a script that identify its language: a text with only π and λ is not Greek."""

_ENGLISH_WORDS = 2
"""Grammar words that identify English text."""

_WORDS_IN_ENGLISH = 2
"""Grammar words that identify another language within English text."""

_local = threading.local()


def find_language_words(words: Set[str]) -> set[str]:
    """Return the words that indicate a language other than English, ignoring case."""
    telling = _LANGUAGE_WORDS.intersection(map(str.lower, words))
    return {word for word in words if word.lower() in telling} if telling else set()


def languages_of_text(words: Set[str], text: str) -> tuple[str, ...]:
    """Return the languages of a text other than English."""
    known = words & _LANGUAGE_WORDS
    least = _MIN_SCORE + _MIN_SCORE_PER_WORD * len(words)
    letters: Set[str] = frozenset() if text.isascii() else set(map(str.lower, non_ascii_letters(text)))
    if not letters and len(known) < least:
        return ()
    scores, hits, own = _score(sorted(known))
    # `café` does not make an English text French, nor do one or two foreign words.
    english = len(words & WORDS_OF["en"]) >= _ENGLISH_WORDS
    among = [each for each in LATIN if not english or hits[each] >= _WORDS_IN_ENGLISH]
    _add_letters(scores, letters, among)
    floor = max(least, _MIN_RELATIVE_SCORE * max(scores.values(), default=0.0))
    found = [
        each
        for each in among
        if scores[each] >= floor or (scores[each] >= least and own[each] >= _MIN_UNIQUE_WORDS)
    ]
    return (*found, *_other_scripts(letters, _LETTERS_OF_WORDS))


def languages_of_query(words: Collection[str], text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the possible languages of a query: those whose grammar is ignored, and those to stem by."""
    distinct = frozenset(words)
    scores, hits, _ = _score(sorted(distinct & _LANGUAGES_OF_WORD.keys()))
    letters = defaultdict[str, float](float)
    beyond = non_ascii_letters(text.lower())
    _add_letters(letters, beyond)
    for each in letters:
        scores[each] += letters[each]
    # One word is not enough: `son` may be English, and searching for an article costs little.
    proven = {
        each: score for each, score in scores.items() if each == "en" or hits[each] + letters.get(each, 0) > 1
    }
    best = max(proven.values(), default=0.0)
    others = _other_scripts(beyond, 1)
    if not best:
        return ("en", *others), (*LATIN, *others)
    if scores["en"] >= best:
        near = [each for each in LATIN if scores[each] >= best * _MIN_RELATIVE_SCORE] if letters else []
        return ("en", *others), (*(near or [each for each in LATIN if each in letters]), *others)
    found = [each for each in LATIN if proven.get(each, 0.0) >= best * _MIN_RELATIVE_SCORE]
    return (*found, *others), (*found, *others)


def language_mark(language: str) -> str:
    """Return the index word that marks every text stemmed in a language."""
    return f"{language}{STEM_MARK}{STEM_MARK}"


def stem_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the marked stems of a text's words in some languages, without repetitions."""
    if not languages:
        return []
    if not text.isascii():
        # Vowel signs would split Arabic words. The other stemmers handle their own alphabets.
        text = unify_spelling(text) if "ar" in languages else unicodedata.normalize("NFC", text)
    words = dict.fromkeys(_WORD.findall(text))
    stems: dict[str, None] = {}
    for language in languages:
        grammar = WORDS_OF[language]
        latin = language in LETTERS
        worth = [
            word
            for word in words
            if MIN_WORD_LETTERS <= len(word) <= MAX_WORD_LETTERS
            and word not in grammar
            and (word[0] < _FIRST_OTHER) is latin
            and word.isalpha()
        ]
        found = _stemmer(language).stemWords(worth)
        if language == "pt":
            # The stemmer does not unify -ão and -ões.
            found = [stem[:-1] + "ã" if stem[-1] == "õ" else stem for stem in found]
        stems.update(dict.fromkeys(found))
    return [stem + STEM_MARK for stem in stems if len(stem) > 1]


def korean_stem(word: str) -> str:
    """Return a Korean word without its particles and verb endings, or unchanged."""
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2 - (len(ending) > 2):
            return _without_particle(word.removesuffix(ending))
    stem = _without_particle(word)
    # Two particles may follow each other: 회의에서는.
    again = _without_particle(stem)
    return again if len(again) > 1 and len(stem) - len(again) > 1 else stem


def _without_particle(word: str) -> str:
    """Return a Korean word without one particle.

    Some particles follow a final consonant, others a vowel; if the letter does not fit, it belongs to the word (마을).
    """
    for particle in _LONG_PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            return word.removesuffix(particle)
    if len(word) < 2:
        return word
    last, before = word[-1], word[-2]
    if not "가" <= before <= "힣":
        return word
    final = (ord(before) - 0xAC00) % 28
    if word.endswith("으로") and len(word) > 2 and final == 0:
        return word[:-2]
    fits = (last in _AFTER_FINAL and final) or (last in _AFTER_VOWEL and not final)
    if last in "을를" and fits:
        return word[:-1]
    if len(word) > 2 and (fits or last in "의에도만" or (last == "로" and final in (0, 8))):
        return word[:-2] if word.endswith("으로") else word[:-1]
    return word


def _score(
    known: Iterable[str],
) -> tuple[defaultdict[str, float], defaultdict[str, int], defaultdict[str, int]]:
    """Return by language: the score of grammar words in a fixed order, their number, and the number unique to it."""
    scores, hits, own = defaultdict[str, float](float), defaultdict[str, int](int), defaultdict[str, int](int)
    for word in known:
        languages = _LANGUAGES_OF_WORD[word]
        for language in languages:
            scores[language] += 1 / len(languages)
            hits[language] += 1
        if len(languages) == 1:
            own[languages[0]] += 1
    return scores, hits, own


def _add_letters(scores: defaultdict[str, float], letters: Set[str], among: Collection[str] = LATIN) -> None:
    """Add 1 for two letters that a language has and English lacks, 0.6 for one."""
    if not letters:
        return
    for language in among:
        common = len(letters & LETTERS[language])
        if common:
            scores[language] += 0.6 if common == 1 else 1.0


def _other_scripts(letters: Set[str], least: int) -> tuple[str, ...]:
    """Return the non-Latin languages with at least `least` letters in a text."""
    if not letters:
        return ()
    return tuple(language for language, script in _SCRIPTS.items() if len(script & letters) >= least)


def _stemmer(language: str) -> Any:
    """Return this thread's stemmer of a language: stemmers are not thread-safe."""
    made: dict[str, Any] | None = getattr(_local, "stemmers", None)
    if made is None:
        made = _local.stemmers = {}
    if language not in made:
        # Imported on first use: an English memory never needs it.
        made[language] = import_module("Stemmer").Stemmer(ALGORITHMS[language], 0)
    return made[language]


def irregular_forms(word: str) -> tuple[str, ...]:
    """Return irregular forms of an English word: `chose` and `chosen` for `choosing`."""
    bases = [word]
    if word.endswith("ing"):
        bases += [word[:-3], word[:-3] + "e", word[:-4]]
    elif word.endswith("s"):
        bases += [word[:-1], word[:-2]]
    return next((_FORMS[base] for base in bases if base in _FORMS), ())
