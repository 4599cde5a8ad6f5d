"""What the forms of a word have in common, language by language.

FTS5's own tokenizer stems English and nothing else. For the other languages the index keeps, beside a text, the
Snowball stem of each of its words. A stem carries `MARK` at its end, so that it meets stems only and never a word
spelled alike: the Spanish stem of `notar` is not the English `not`.
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
from memd.text.language.spelling import letters_beyond_ascii, one_spelling
from memd.text.language.stopwords import FREQUENT_WORDS, KOREAN_ENDINGS, WORDS_OF

MARK = "ǀ"
"""Ends a stem in the index: a letter to FTS5, in use by no language that is written with its stems, and after it
the English stemmer finds no ending to cut."""

SHORTEST = 3
"""Letters of the shortest word that is stemmed."""

LONGEST = 40
"""Letters of the longest: what is longer is no word."""

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
"""Snowball's name of each language that is stemmed."""

LATIN = ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "tr")
"""Those that share an alphabet: their words and letters tell them apart, in texts long enough."""

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
_TELLING = frozenset(
    word
    for word, languages in _LANGUAGES_OF_WORD.items()
    if "en" not in languages and word not in _ENGLISH_TOO
)

_LEAST_SCORE, _SCORE_OF_A_WORD = 0.45, 0.015
"""A text's grammar must speak for a language with this much, and more the more words it has: English prose
has its `die` and `sans`."""

_KIN = 0.6
"""Share of the best language's score from which another is as plausible: grammar is shared among neighbours."""

_OWN_WORDS = 4
"""Grammar words of no other language that prove one, whatever else a text holds."""

_LONG_PARTICLES = tuple(" ".join(_TABLES["particles-ko"]).split())
_AFTER_FINAL = frozenset("은이을과")
_AFTER_VOWEL = frozenset("는가를와랑")

_FORMS: dict[str, tuple[str, ...]] = {}
for _group in "; ".join(_TABLES["irregular-en"]).split("; "):
    _all = tuple(_group.split())
    for _each in _all:
        _FORMS[_each] = tuple(form for form in _all if form != _each)

_LETTERS_OF_WORDS = 3
"""Letters of a script that make words: π and λ are none."""

_ENGLISH_WORDS = 2
"""Grammar words that show a text to be English, at least in part."""

_WORDS_IN_ENGLISH = 2
"""Grammar words that prove another language in such a text."""

_local = threading.local()


def speaking_for_languages(words: Set[str]) -> set[str]:
    """Return the words that speak for a language other than English, whatever their case."""
    telling = _TELLING.intersection(map(str.lower, words))
    return {word for word in words if word.lower() in telling} if telling else set()


def languages_of_text(words: Set[str], text: str) -> tuple[str, ...]:
    """Return the languages, English aside, that a text is written in."""
    known = words & _TELLING
    least = _LEAST_SCORE + _SCORE_OF_A_WORD * len(words)
    letters: Set[str] = frozenset() if text.isascii() else set(map(str.lower, letters_beyond_ascii(text)))
    if not letters and len(known) < least:
        return ()
    scores, hits, own = _score(sorted(known))
    # In an English text a café is no French, and a word or two beside it no proof.
    english = len(words & WORDS_OF["en"]) >= _ENGLISH_WORDS
    among = [each for each in LATIN if not english or hits[each] >= _WORDS_IN_ENGLISH]
    _add_letters(scores, letters, among)
    floor = max(least, _KIN * max(scores.values(), default=0.0))
    found = [
        each for each in among if scores[each] >= floor or (scores[each] >= least and own[each] >= _OWN_WORDS)
    ]
    return (*found, *_other_scripts(letters, _LETTERS_OF_WORDS))


def languages_of_query(words: Collection[str], text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the languages a query may be in: whose grammar to leave out, and by which to stem."""
    distinct = frozenset(words)
    scores, hits, _ = _score(sorted(distinct & _LANGUAGES_OF_WORD.keys()))
    letters = defaultdict[str, float](float)
    beyond = letters_beyond_ascii(text.lower())
    _add_letters(letters, beyond)
    for each in letters:
        scores[each] += letters[each]
    # One word is no proof: `son` may be a son, and asking for an article costs little.
    proven = {
        each: score for each, score in scores.items() if each == "en" or hits[each] + letters.get(each, 0) > 1
    }
    best = max(proven.values(), default=0.0)
    others = _other_scripts(beyond, 1)
    if not best:
        return ("en", *others), (*LATIN, *others)
    if scores["en"] >= best:
        near = [each for each in LATIN if scores[each] >= best * _KIN] if letters else []
        return ("en", *others), (*(near or [each for each in LATIN if each in letters]), *others)
    found = [each for each in LATIN if proven.get(each, 0.0) >= best * _KIN]
    return (*found, *others), (*found, *others)


def language_mark(language: str) -> str:
    """Return the word that every text stemmed in a language holds, so that an index knows its languages."""
    return f"{language}{MARK}{MARK}"


def stem_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the marked stems of the words of a text in some languages, each once."""
    if not languages:
        return []
    if not text.isascii():
        # Vowel signs would tear Arabic words. The other stemmers know their own alphabets best.
        text = one_spelling(text) if "ar" in languages else unicodedata.normalize("NFC", text)
    words = dict.fromkeys(_WORD.findall(text))
    stems: dict[str, None] = {}
    for language in languages:
        grammar = WORDS_OF[language]
        latin = language in LETTERS
        worth = [
            word
            for word in words
            if SHORTEST <= len(word) <= LONGEST
            and word not in grammar
            and (word[0] < _FIRST_OTHER) is latin
            and word.isalpha()
        ]
        found = _stemmer(language).stemWords(worth)
        if language == "pt":
            # The stemmer keeps -ão and -ões apart.
            found = [stem[:-1] + "ã" if stem[-1] == "õ" else stem for stem in found]
        stems.update(dict.fromkeys(found))
    return [stem + MARK for stem in stems if len(stem) > 1]


def korean_stem(word: str) -> str:
    """Return a Korean word without the particles and verb endings hung on it, the word itself if none is."""
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2 - (len(ending) > 2):
            return _without_particle(word.removesuffix(ending))
    stem = _without_particle(word)
    # Two may follow each other: 회의에서는.
    again = _without_particle(stem)
    return again if len(again) > 1 and len(stem) - len(again) > 1 else stem


def _without_particle(word: str) -> str:
    """Return a Korean word without one particle.

    Some particles stand after a syllable with a final consonant and others after one without; if it doesn't
    fit the letter is the word's own (마을).
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
    """Return how much grammar words, in a fixed order, speak for each language, how many do, how many for it alone."""
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
    """Add a point for two letters that a language has and English hasn't, and most of one for one."""
    if not letters:
        return
    for language in among:
        common = len(letters & LETTERS[language])
        if common:
            scores[language] += 0.6 if common == 1 else 1.0


def _other_scripts(letters: Set[str], least: int) -> tuple[str, ...]:
    """Return the languages that so many letters of their own tell, one at least."""
    if not letters:
        return ()
    return tuple(language for language, script in _SCRIPTS.items() if len(script & letters) >= least)


def _stemmer(language: str) -> Any:
    """Return this thread's stemmer of a language: one must not be used by two threads at a time."""
    made: dict[str, Any] | None = getattr(_local, "stemmers", None)
    if made is None:
        made = _local.stemmers = {}
    if language not in made:
        # Loaded when the first such text comes: a memory in English never pays for it.
        made[language] = import_module("Stemmer").Stemmer(ALGORITHMS[language], 0)
    return made[language]


def other_forms(word: str) -> tuple[str, ...]:
    """Return the forms of an English word that no rule of endings leads to: `chose` and `chosen` for `choosing`."""
    bases = [word]
    if word.endswith("ing"):
        bases += [word[:-3], word[:-3] + "e", word[:-4]]
    elif word.endswith("s"):
        bases += [word[:-1], word[:-2]]
    return next((_FORMS[base] for base in bases if base in _FORMS), ())
