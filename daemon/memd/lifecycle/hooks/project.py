"""How notes name the project of a session: by whole words, or by their own path. Pure functions.

A name that is a common word, such as `api` or `notes`, needs more than the word in prose: a path, code formatting, a
heading, `project api`, or the beginning of a line. So does a short name in a script without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path, PurePath

from memd.lifecycle.hooks.prompts import is_common
from memd.text.data_files import read_words
from memd.text.language.stopwords import WORDS_OF
from memd.text.query.word_forms import fold, stem_word
from memd.text.tokens import has_cjk

MIN_WIDE_LETTERS = 4
"""Length from which a name in a script without spaces is hardly part of another word."""

_WORDS = read_words(Path(__file__).with_suffix(".txt"))
_COMMON_STEMS = frozenset(stem_word(fold(word))[0] for word in (*_WORDS["common"], *_WORDS["compound"]))
_PROJECT = f"(?i:{'|'.join(_WORDS['project'])})"
_GRAMMAR = frozenset[str]().union(*WORDS_OF.values())

_PART = re.compile(r"[A-ZÀ-Þ]?[^\W_A-ZÀ-Þ]+|[A-ZÀ-Þ]+(?![^\W_A-ZÀ-Þ])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[-_ ]+")
_START = r"\s*(?:[-*+>]|\d+[.)])?\s*(?:\[[ xX]\]\s*)?(?:\d{4}-\d\d-\d\d\W*)?[*_\"“`(\[]*"
_LABEL = (
    r"[*`\]のはがをにで的在是은는이가을를의에]|_(?!\w)|['’]s\b|[)\"”]?(?:\s*\([^)\n]*\))?\s*(?:[:：=→–—]|-\s)"
)
_ROOT = r"(?:~|\$HOME|/(?:home|Users)/[^/\s]+|/root|/srv|/opt)"
_FORGE = r"(?:git(?:hub|lab)|bitbucket|codeberg)[\w.]*[:/][\w.-]+/"
_ARTICLES = (
    "the a an our my your this that every el la los las un una al le les du os der die das dem den".split()
)
_NO_NOUN = "(?:(?=[A-ZÀ-Þ])|" + "".join(rf"(?<!\b{word} )" for word in _ARTICLES) + ")"
"""Not in lower case after an article: `the harbor` is any harbor, but `the Harbor team` has a name."""


class Project:
    """The project in a folder; false if the folder names none."""

    def __init__(self, folder: str) -> None:
        path = PurePath(unicodedata.normalize("NFC", folder))
        self.name = path.name
        parts = _PART.findall(self.name)
        if self.name.lower() in _WORDS["container"] or "".join(parts).isdigit():
            parts = []
        self.words = tuple(dict.fromkeys(map(fold, [self.name, *parts]))) if parts else ()
        """The name and its words."""
        is_word = fold("".join(parts)) in _WORDS["common"]
        self.is_common = is_word or all(map(_is_common, parts))
        """Whether the name is an ordinary word, or made of such words."""
        self.folder = f"{path}/"
        self._slug = re.sub(r"[^A-Za-z0-9]", "-", str(path))
        escaped = [*map(re.escape, parts)]
        name = f"(?i:{'[ ._-]?'.join(escaped)})" if parts else "(?!)"  # which matches nothing
        # Letters of scripts without spaces may touch a name in another script.
        letter = "0-9A-Za-zÀ-ÿ" if self.name.isascii() else "" if has_cjk(self.name) else r"\w"
        before = rf"(?<![{letter}_])(?<![^\W\d_]-)" if letter else ""
        after = f"(?![{letter}])" if letter else ""
        alone = rf"{after}(?!-\w|_|\.\w)"
        named = [
            f"`{name}`",
            rf"\[\[{name}[\]|#]",
            rf"(?:{_FORGE}{name}(?![\w-])|/{name}\.git\b)",
            rf"{_ROOT}(?:(?:/[\w.-]+)?|(?:/[\w.-]+)*/{re.escape(path.parent.name)})/{name}{alone}",
        ]
        if self.name.lower() not in _WORDS["compound"]:
            named.append(rf"(?<![^\W_]){_PROJECT}[\s:：]*[\"'“„«*_(]*{name}{alone}")
            named.append(rf"{before}{name}[\"'”*_)]*[\s-]?{_PROJECT}(?![^\W_])")
        if not self.is_common:
            named.append(f"{_NO_NOUN if len(parts) == 1 else ''}{before}{name}{after}")
        elif len(parts) > 1 and not is_word:  # an identifier: my-app, MyApp
            camel = "".join(re.escape(part.capitalize()) for part in parts)
            named.append(rf"{before}(?:(?i:{'[._-]'.join(escaped)})|{camel}){after}(?!-\w)")
        self._whole = re.compile(name)
        self._named = re.compile("|".join(named))
        self._start = re.compile(rf"{_START}({name}){after}(?:({_LABEL})|\s+(\w+))?")
        self._heading = re.compile(rf"\W*{name}\W*(?:$|[:：(–—,]|-\s)")

    def __bool__(self) -> bool:
        return bool(self.words)

    def begins(self, line: str) -> bool:
        """Return whether a line begins with the project's name."""
        start = self._start.match(unicodedata.normalize("NFC", line))
        if start is None or not self.is_common:
            return start is not None
        word = (start[3] or "").lower()
        is_exact = start[1] == self.name and word != "" and word not in _GRAMMAR
        return bool(start[2]) or word in _WORDS["verb"] or is_exact

    def is_named(self, text: str) -> bool:
        """Return whether a line names the project."""
        return self._named.search(unicodedata.normalize("NFC", text)) is not None or self.begins(text)

    def is_heading(self, text: str) -> bool:
        """Return whether the text below a heading is about the project."""
        return self.is_named(text) or self._heading.match(text) is not None

    def is_path(self, path: str) -> bool:
        """Return whether a file or folder is the project's: by the name of one of its folders, or of itself."""
        names = [name.removesuffix(".md") for name in unicodedata.normalize("NFC", path).split("/")]
        if not self or f"{path}/".startswith(self.folder) or self._slug in names:
            return bool(self)
        names = names[-1:] if path.startswith("/") else names[1:] or names
        matches = self._whole.fullmatch if self.is_common else self._named.search
        return any(matches(_DATE.sub("", name, count=1)) is not None for name in names)


project_in = lru_cache(maxsize=128)(Project)
"""Return the project in a folder."""


def _is_common(word: str) -> bool:
    folded, is_wide = fold(word), has_cjk(word)
    is_short = len(word) < (MIN_WIDE_LETTERS if is_wide else 3)
    return is_short or stem_word(folded)[0] in _COMMON_STEMS or is_common(folded)
