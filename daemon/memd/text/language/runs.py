"""Search terms of Chinese, Japanese, Korean and Thai text, which has no spaces between words.

The index stores each letter as a word, so a phrase finds any run of letters. Without a dictionary the ends of words are
unknown: after grammar is removed, the rest is searched in pairs and as a whole, so that a text with the whole outranks
one with scattered pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memd.text.language.stems import korean_stem
from memd.text.language.stopwords import (
    CHINESE_GRAMMAR,
    CHINESE_WHOLE,
    JAPANESE_GRAMMAR,
    KOREAN_GRAMMAR,
    THAI_GRAMMAR,
)
from memd.text.lazy_pattern import lazy_pattern

RunTerm = tuple[str, tuple[str, ...]]
"""A word, and the phrases that find it."""

_HAN = "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff"
_INSIDE = "ちりきしいみけげめれえせびべぎじ"  # kana inside words that are not particles: 打ち合わせ

_SCRIPT_RUN = lazy_pattern(
    rf"(?P<han>[{_HAN}]+(?:[{_INSIDE}][{_HAN}]+)*)|(?P<hira>[{_HIRAGANA}]+)|(?P<kata>[{_KATAKANA}]+)"
    r"|(?P<hangul>[\u3131-\u318e\uac00-\ud7af]+)|(?P<thai>[\u0e00-\u0e7f]+)|(?P<rest>.)"
)
_THAI_SIGN = re.compile("[\u0e40-\u0e44]?[\u0e01-\u0e2f\u0e46][\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*|.")
_KANA = re.compile(f"[{_HIRAGANA}]")


def _longest_first(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of some words."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_MIXED_GRAMMAR = {word for word in JAPANESE_GRAMMAR if re.match(f"[{_HAN}]", word) and _KANA.search(word)}
_HAN_GRAMMAR = {word for word in JAPANESE_GRAMMAR if _KANA.search(word) is None}
_CHINESE = lazy_pattern(rf"(?P<whole>{_longest_first(CHINESE_WHOLE)})|{_longest_first(CHINESE_GRAMMAR)}")
_JAPANESE_HAN = lazy_pattern(_longest_first(_HAN_GRAMMAR))
_JAPANESE_MIXED = lazy_pattern(_longest_first(_MIXED_GRAMMAR))
_JAPANESE_KANA = lazy_pattern(_longest_first(JAPANESE_GRAMMAR - _HAN_GRAMMAR - _MIXED_GRAMMAR))
_THAI = lazy_pattern(_longest_first(THAI_GRAMMAR))


def has_kana(text: str) -> bool:
    """Return whether a text contains kana, and so is Japanese."""
    return re.search(f"[{_HIRAGANA}{_KATAKANA}]", text) is not None


def run_terms(run: str, *, japanese: bool) -> list[RunTerm]:
    """Return the search terms of a run of `CJK_CLASS` letters."""
    parts = _JAPANESE_MIXED.split(run) if japanese else [run]
    return [term for part in parts for term in _part_terms(part, japanese=japanese)]


def run_pairs(run: str) -> list[RunTerm]:
    """Return a run whole and in pairs, including grammar: for a query of grammar alone."""
    pairs: list[RunTerm] = [(pair, (pair,)) for pair in (run[at : at + 2] for at in range(len(run) - 1))]
    return [(run, (run,)), *pairs] if len(run) > 2 else [(run, (run,))]


def _part_terms(run: str, *, japanese: bool) -> list[RunTerm]:
    terms: list[RunTerm] = []
    pieces = list(_SCRIPT_RUN.finditer(run))
    for place, piece in enumerate(pieces):
        text = piece[0]
        if piece["han"]:
            following = pieces[place + 1] if place + 1 < len(pieces) else None
            kana = following[0] if following is not None and following["hira"] else ""
            terms += _japanese_terms(text, kana) if japanese else _chinese_terms(text)
        elif piece["hira"]:
            terms += _hiragana_terms(text, None if place == 0 else pieces[place - 1].lastgroup)
        elif piece["kata"]:
            terms.append(_katakana_term(text))
        elif piece["hangul"]:
            terms += _korean_terms(text)
        elif piece["thai"]:
            terms += _thai_terms(text)
        else:
            terms.append((text, (text,)))
    return terms


def _chinese_terms(text: str) -> list[RunTerm]:
    """Return the terms of the parts between Chinese grammar."""
    terms = []
    start = 0
    for match in _CHINESE.finditer(text):
        if match["whole"] is None:
            if match.start() > start:
                terms += run_pairs(text[start : match.start()])
            start = match.end()
    return terms + (run_pairs(text[start:]) if start < len(text) else [])


def _japanese_terms(text: str, kana: str) -> list[RunTerm]:
    """Return the terms of kanji, with and without the kana inside and after them."""
    terms: list[RunTerm] = []
    parts = [part for part in _JAPANESE_HAN.split(text) if part.strip(_INSIDE)]
    for part in parts:
        word = part.strip(_INSIDE)
        bare = _KANA.sub("", word)
        if bare != word:
            # 高い山 are two words, 買い物 is one.
            apart = tuple(word.split("い")) if "い" in word else ()
            terms.append((word, (word, bare, *apart)))
        elif len(word) == 1 and kana and part is parts[-1] and kana[0] not in "はがをにでとへもの":
            terms.append((word, (word + kana[0], word)))
        else:
            terms += run_pairs(word)
    return terms


def _hiragana_terms(text: str, behind: str | None) -> list[RunTerm]:
    """Return the terms of hiragana: parts that are not grammar and long enough for a word."""
    rests = []
    start = 0
    for match in [*_JAPANESE_KANA.finditer(text), None]:
        if match is not None and match.start() == 0 and behind is None and len(match[0]) == 1:
            continue  # はなび starts with no particle: a particle follows a word
        end = len(text) if match is None else match.start()
        if end - start > 1 and not (start == 0 and behind == "han"):
            rests.append(text[start:end])
        start = len(text) if match is None else match.end()
    return [(rest, _pieces(rest)) for rest in rests if rest not in JAPANESE_GRAMMAR]


def _katakana_term(text: str) -> RunTerm:
    """Return the term of a katakana word: with and without a final long vowel, and the parts of a compound."""
    bare = (text.rstrip("ー・") if len(text) > 3 else text) or text
    parts = [part for part in bare.split("・") if len(part) > 1]
    return text, (bare, *parts) if len(parts) > 1 else _pieces(bare, 6)


def _pieces(word: str, longest: int = 3) -> tuple[str, ...]:
    """Return a word and, if it may be a compound, each group of three letters in it."""
    return (word, *(word[at : at + 3] for at in range(len(word) - 2))) if len(word) > longest else (word,)


def _korean_terms(text: str) -> list[RunTerm]:
    """Return the term of a Korean word: unchanged, without endings, and the parts of a compound."""
    stem = korean_stem(text)
    if text in KOREAN_GRAMMAR or stem in KOREAN_GRAMMAR:
        return []
    pieces = [stem[at : at + 2] for at in range(0, len(stem) - 1, 2)] if len(stem) > 3 else []
    return [(stem, tuple(dict.fromkeys((text, stem, *pieces))))]


def _thai_terms(text: str) -> list[RunTerm]:
    """Return the terms of Thai: pairs of signs, a sign being a consonant with its vowels and tone."""
    terms: list[RunTerm] = []
    for rest in _thai_stretches(text):
        signs = _THAI_SIGN.findall(rest)
        terms.append((rest, (rest,)))
        if len(signs) > 2:
            pairs = [signs[at] + signs[at + 1] for at in range(len(signs) - 1)]
            terms += [(pair, (pair,)) for pair in pairs]
    return terms


def _thai_stretches(text: str) -> list[str]:
    """Return the parts of Thai between grammar that starts and ends at a sign."""
    borders = {len(text)} | {match.start() for match in _THAI_SIGN.finditer(text)}
    rests, start = [], 0
    for match in _THAI.finditer(text):
        if borders >= {match.start(), match.end()}:
            rests.append(text[start : match.start()])
            start = match.end()
    return [rest for rest in (*rests, text[start:]) if rest]
