"""Identifiers (`retryBackoffMs`, `retry_backoff_ms`, `POL-358`, `C++`) and their index entries.

FTS5's words are letters and digits between signs: it keeps `retryBackoffMs` whole, splits `retry_backoff_ms` and
sees `C` in `C++`. Alternative spellings of a name are therefore indexed with the text and added to queries.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from memd.text.language.stems import find_language_words, language_mark, languages_of_text, stem_words
from memd.text.language.stopwords import WORDS_OF
from memd.text.lazy_pattern import lazy_pattern
from memd.text.tokens import CJK_CLASS

MAX_NAME_LETTERS = 64
"""Longest name that is split; longer ones are data."""

MAX_NAME_PARTS = 8
"""Most parts of a name; longer ones are data."""

MIN_JOINED_DIGITS = 6
"""Shortest number that is joined: 2026-05-08 is one number, 10-12 are two."""

_MAX_CACHED_WORDS = 4096
"""Cached names: the names of a file recur."""

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_NO_JOINTS = str.maketrans("", "", "-_\u2010\u2011")
_HUMP = re.compile(rf"[{_LOWER}0-9][{_UPPER}]|[{_UPPER}]{{2}}[{_LOWER}]{{2}}")
_CAMEL_PART = re.compile(rf"[{_UPPER}]+\d*(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+\d*|\d+")
LETTER = rf"[^\W_{CJK_CLASS}]"  # or a digit
ASCII_LETTER = "[A-Za-z0-9]"
"""`LETTER` in an ASCII text, compiled 20 times faster."""

_WORD_RUN = lazy_pattern(rf"{LETTER}+")
_JOINED_RUN = lazy_pattern(rf"{LETTER}+(?:[-_\u2010\u2011]{LETTER}+)+")
_SYMBOL = lazy_pattern(
    rf"""(?<![+#._])(?<!{LETTER})(?:
        (?P<plus>[A-Za-z][A-Za-z0-9]{{0,15}})\+\+(?![A-Za-z_+])
      | (?P<sharp>[A-Za-z])\#(?!{LETTER})
      | (?P<net>\.[Nn][Ee][Tt])(?!{LETTER})
    )|(?<={LETTER})(?P<dotnet>\.NET)(?!{LETTER})|(?<!{LETTER})(?P<js>[A-Za-z][A-Za-z0-9_]{{0,31}})\.[Jj][Ss](?!{LETTER})""",
    re.VERBOSE,  # without IGNORECASE, which is slow to compile with letters of many scripts
)
_PHONE = re.compile(r"\+\d{1,3}(?:[ ()/.-]{0,3}\d{2,}){2,6}(?!\d)")
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}")
_SHORT_HASHES = (7, 8, 9, 10, 12)
_SYMBOL_SIGNS = ("++", "#", ".js", ".net", ".NET")
_QUOTED = re.compile(
    r'"([^"\n]{2,120})"|“([^”\n]{2,120})”|„([^“”\n]{2,120})[“”]|«([^»\n]{2,120})»|「([^」\n]{1,120})」|『([^』\n]{1,120})』'
    r"|`([^`\n]{2,120})`|(?<!\w)'([^'\n]{2,120})'(?!\w)|(?<!\w)‘([^’\n]{2,120})’(?!\w)"
)
_NAME, _ASCII_NAME = (
    lazy_pattern(
        rf"(?<![._])(?<!{letter})(?P<lead>--|[#@$]|(?:~|\.\.?)?/\.?|\.(?=[A-Za-z]))?"
        rf"(?P<body>{letter}+(?:[-./:@_+#&~\\\u2010\u2011]{{1,3}}{letter}+)*)(?P<call>\(\))?"
    )
    for letter in (LETTER, ASCII_LETTER)
)
_NAME_SIGN = re.compile(r"[-./:@_+#&~\\\u2010\u2011]")
_MEASURE = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|x)", re.IGNORECASE)
_LONG_NUMBER = 5


def camel_parts(word: str) -> list[str]:
    """Return the parts of a camel-case name, in lower case."""
    if len(word) > MAX_NAME_LETTERS or _HUMP.search(word) is None:
        return []
    parts = _CAMEL_PART.findall(word)
    single = sum(len(part) == 1 for part in parts)
    if not 1 < len(parts) <= MAX_NAME_PARTS or single * 2 > len(parts) or parts[-1] in ("s", "es"):
        return []
    return [part.lower() for part in parts]


def join_parts(name: str) -> str:
    """Return a name without hyphens and underscores, in lower case; "" if there are none."""
    whole = name.translate(_NO_JOINTS)
    if not 0 < len(name) - len(whole) < MAX_NAME_PARTS or len(whole) > MAX_NAME_LETTERS:
        return ""
    return "" if whole.isdigit() and len(whole) < MIN_JOINED_DIGITS else whole.lower()


def symbol_words(text: str) -> list[str]:
    """Return words for names with signs in a text: `cplusplus` and `cpp` for C++, `csharp`, `dotnet`, `nodejs`."""
    return [word for match in _symbols(text) for word in _symbol_word(match)]


def phone_numbers(text: str) -> list[str]:
    """Return the digits of each international telephone number in a text, joined."""
    return ["".join(filter(str.isdigit, match[0])) for match in _PHONE.finditer(text)]


def short_hashes(word: str) -> list[str]:
    """Return the usual short forms of a commit hash; empty for other words."""
    if _HASH.fullmatch(word.lower()) is None:
        return []
    return [word[:length] for length in _SHORT_HASHES if length < len(word)]


def is_hash(word: str) -> bool:
    """Return whether a word may be a hash or its beginning."""
    return _HASH.fullmatch(word.lower()) is not None


def select_names(words: Collection[str]) -> set[str]:
    """Return the words that may have entries in `index_names`; the others need not be passed to it."""
    return {
        word
        for word in words
        if (
            not (word.islower() or word[1:].islower())
            if word.isalpha()
            else "-" in word
            or "_" in word
            or "." in word
            or "+" in word
            or "#" in word
            or not (word.isascii() and word[1:].islower())
        )
    }


def index_names(text: str, words: Collection[str]) -> list[str]:
    """Return additional index entries for the names in a text."""
    extra: dict[str, None] = {}
    for word in [word for word in words if not word.islower()]:
        tail = word[1:]
        if not tail.islower() and tail.lower() != tail:
            extra.update(dict.fromkeys(_names_with_humps(word)))
    hyphens = not text.isascii() and ("\u2010" in text or "\u2011" in text)
    for word in words if hyphens else [word for word in words if "-" in word or "_" in word]:
        extra.update(dict.fromkeys(_joined_names(word)))
    if "+" in text:
        extra.update(dict.fromkeys(phone_numbers(text)))
    for sign in _SYMBOL_SIGNS:
        if sign in text:
            extra.update((name, None) for word in words if sign in word for name in symbol_words(word))
    return list(extra)


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _names_with_humps(word: str) -> tuple[str, ...]:
    """Return the parts of each camel-case name in a word, one string per name, so that a phrase finds them."""
    if _HUMP.search(word) is None:
        return ()
    return tuple(" ".join(parts) for each in _WORD_RUN.findall(word) if (parts := camel_parts(each)))


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _joined_names(word: str) -> tuple[str, ...]:
    """Return each name in a word that hyphens or underscores join, without them."""
    return tuple(whole for run in _JOINED_RUN.findall(word) if (whole := join_parts(run)))


def _symbol_word(match: re.Match[str]) -> Iterator[str]:
    if match["plus"]:
        name = match["plus"].lower()
        yield name + "plusplus"
        if name == "c":
            yield "cpp"
    elif match["sharp"]:
        yield match["sharp"].lower() + "sharp"
    elif match["js"]:
        yield match["js"].lower() + "js"
    else:
        yield "dotnet"


def _symbols(text: str) -> Iterable[re.Match[str]]:
    """Return the names with signs in a text; few texts have one, and the pattern takes 7 ms to compile."""
    lowered = text.lower()
    return _SYMBOL.finditer(text) if any(sign in lowered for sign in ("++", "#", ".js", ".net")) else ()


def find_symbols(text: str) -> list[tuple[int, int, list[str]]]:
    """Return spans that are not split into words: names with signs (C++, C#, .NET) and telephone numbers."""
    found = [
        (*match.span(), list(_symbol_word(match)))
        for match in _symbols(text)
        if match["plus"] or match["sharp"] or match["net"]
    ]
    for match in _PHONE.finditer(text):
        groups = re.findall(r"\d+", match[0])
        found.append(
            (*match.span(), ["".join(groups), " ".join(groups), *(each for each in groups if len(each) > 3)])
        )
    return sorted(found)


def is_letter_name(letter: str) -> bool:
    """Return whether a single letter may be a name (`C`, plan B) rather than an article or pronoun."""
    return letter.isdigit() or (letter.isupper() and letter not in "AI")


def quoted_phrases(text: str) -> list[str]:
    """Return the phrases between quotation marks."""
    found = (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if any(letter.isalnum() for letter in phrase)]


def exact_names(text: str) -> list[str]:
    """Return the names in a query that have to match exactly."""
    found = [
        (match.start(), match[0].strip())
        for match in _symbols(text)
        if not match["js"] and not match["dotnet"]
    ]
    for match in (_ASCII_NAME if text.isascii() else _NAME).finditer(text):
        body = match["body"]
        if match["lead"]:
            found.append((match.start(), match["lead"] + body))
        elif match["call"]:
            found.append((match.start(), body + "("))
        elif _is_exact(body):
            found.append((match.start(), body))
    return [name for _, name in sorted(found)]


def _is_exact(name: str) -> bool:
    """Return whether a word is a name rather than prose."""
    if name.isalpha():
        return bool(camel_parts(name))
    if _NAME_SIGN.search(name) is not None:
        parts = _WORD_RUN.findall(name)
        prose = all(part.isalpha() and len(part) == 1 for part in parts) and "&" not in name
        return not prose and all(part.lower() not in WORDS_OF["en"] or part.isupper() for part in parts)
    if name.isdigit():
        return len(name) >= _LONG_NUMBER
    if any(letter.isdigit() for letter in name):
        return _MEASURE.fullmatch(name) is None
    return bool(camel_parts(name))


def extra_words(texts: Sequence[str]) -> list[str]:
    """Return additional index words for texts, besides `index_text`.

    Texts of one file share most words, so each distinct word is examined once.
    """
    words_of = [text.split() for text in texts]
    distinct = set[str]().union(*words_of)
    named = select_names(distinct)
    speaking = find_language_words(distinct)
    extras = []
    for text, words in zip(texts, words_of, strict=True):
        names = dict.fromkeys([word for word in words if word in named] if named else ())
        # Telephone numbers span words that need not be names.
        extra = index_names(text, names) if names or "+" in text else []
        if not text.isascii() or (speaking and not speaking.isdisjoint(words)):
            languages = languages_of_text(set(text.lower().split()), text)
            if languages:
                extra += map(language_mark, languages)
                extra += stem_words(text.lower(), languages)
        extras.append(" ".join(extra))
    return extras
