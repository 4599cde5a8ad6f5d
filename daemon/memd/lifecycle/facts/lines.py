"""Conversion of facts to lines of Markdown (`- text <!-- fact id=… importance=… category=… created=… -->`), and back.

Pure. Users edit the file, so reading is lenient: any bullet is a fact, and a missing or broken comment means default
values. Writing is exact: any text becomes one line, and that line is one fact.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Collection, Container
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import chain, count

from msgspec import Struct
from msgspec.structs import replace

from memd.lifecycle.facts.capture import category_of
from memd_client.limits import CATEGORIES, ID_PATTERN, MAX_DATE_MS

PATH = "memory/facts.md"
"""Path of an agent's facts in its workspace: a note that searches find like any other."""

TITLE = "# Facts\n\n"
"""The start of a new file."""

DEFAULT_IMPORTANCE = 0.7

ID_LETTERS = re.compile(ID_PATTERN)
"""Valid ids: they can't end a comment or look like another key."""

LINE_CACHE_SIZE = 131_072
"""Lines with cached parse results: a store reads a file with all lines but one known. With fewer than an agent's facts
no line would be known, because they are read in order."""

NAME_PREFIX_CHARS = 4
"""Letters that two forms of one name share."""

_BULLET = re.compile(r"[ \t]*[-*+][ \t]+(?P<text>\S.*)")
_RULE = re.compile(r"([-*_][ \t]*){3,}")
_COMMENT = re.compile(r"<!--\s*fact\b(?P<meta>[^<>]*)-->\s*")
_PAIR = re.compile(r"(?P<name>[a-z]+)=(?P<value>\S+)")
_INVISIBLE = re.compile(
    "[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|cannot|without|nicht|kein\w*|nie|niemals|ohne|pas|jamais|sans|non|mai|nunca|jamás|sin"
    r"|não|sem|nikdy|bez|nigdy|не|нет|никогда|без)\b|n['’]t\b|不|没|沒|别|別|ない|ません|않|안 |못"
)
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Fact(Struct, frozen=True):
    """A fact. `created_ms` is None if the line has no time; `line` is 0 outside a file.

    `path` is the file that contains it; `supersedes` the id of an earlier fact with another value, "" if there is none.
    `origin` is whose words it is, and why it is outside.
    """

    id: str
    text: str
    importance: float = DEFAULT_IMPORTANCE
    named_category: str = "other"
    created_ms: int | None = None
    line: int = 0
    path: str = PATH
    supersedes: str = ""
    origin: tuple[str, str] = ("agent", "")

    @property
    def category(self) -> str:
        """Its category: the one in its comment, else by its text, which takes too long for all facts of a file."""
        return self.named_category or category_of(self.text)

    @property
    def position(self) -> tuple[int, str, int]:
        """Sort key of its position among all facts."""
        return len(self.path), self.path, self.line


def one_line(text: str) -> str:
    """Return a text as one line without invisible characters."""
    return _BREAKS.sub(" ", _INVISIBLE.sub("", text)).strip()


@lru_cache(maxsize=LINE_CACHE_SIZE)
def normal_form(text: str) -> str:
    """Return a text's words, folded, without punctuation: equal for texts with the same words."""
    folded = unicodedata.normalize("NFKC", one_line(text)).casefold()
    words = re.findall(r"\w+", folded)
    return " ".join(words) or folded


def differs_in_meaning(one: str, other: str) -> bool:
    """Return whether two texts with near vectors differ in meaning.

    A model puts "I am not allergic" near "I am allergic", and one number near another. So two texts that differ in a
    number, in a negation, or in a name that each has and the other lacks, are two facts: no correction may be lost.
    """
    if _NUMBER.findall(one) != _NUMBER.findall(other):
        return True
    mine, theirs = one.casefold(), other.casefold()
    if len(_DENIAL.findall(mine)) != len(_DENIAL.findall(theirs)):
        return True
    words, others = set(_WORD.findall(mine)), set(_WORD.findall(theirs))
    # Czech and related languages negate by a prefix.
    if any(f"ne{word}" in others for word in words) or any(f"ne{word}" in words for word in others):
        return True
    return _has_name_beyond(one, others) and _has_name_beyond(other, words)


def _has_name_beyond(text: str, others: Collection[str]) -> bool:
    """Return whether a text has a capitalized word (not its first) whose prefix no word of `others` shares."""
    names = [word.casefold() for word in _WORD.findall(text)[1:] if word[0].isupper() and len(word) > 1]
    return any(not any(word.startswith(name[:NAME_PREFIX_CHARS]) for word in others) for name in names)


def new_id(now_ms: int) -> str:
    """Return a new id that sorts by time (a ULID)."""
    number = (min(max(now_ms, 0), 2**48 - 1) << 80) | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def write(fact: Fact, *, plain: bool = False) -> str:
    """Return a fact's line with its line ending."""
    if plain:
        return f"- {_escape(one_line(fact.text))}\n"
    meta = f"fact id={fact.id} importance={fact.importance:.3g} category={fact.category}"
    if fact.created_ms is not None:
        meta += f" created={_stamp(fact.created_ms)}"
    if fact.supersedes:
        meta += f" supersedes={fact.supersedes}"
    return f"- {_escape(one_line(fact.text))} <!-- {meta} -->\n"


@lru_cache(maxsize=2)
def read(markdown: str, path: str = PATH, taken: tuple[str, ...] = ()) -> tuple[Fact, ...]:
    """Return the facts of a file in order; a request reads the same text several times."""
    facts: list[Fact] = []
    seen = set(taken)
    for number, line in enumerate(markdown.split("\n"), 1):
        fact = _fact_at(line, number, path)
        if fact is None:
            continue
        if fact.id in seen:
            fact = replace(fact, id=_free_id(_id_of(fact.text), seen))
        seen.add(fact.id)
        facts.append(fact)
    return tuple(facts)


def without(markdown: str, fact_id: str, path: str = PATH, taken: tuple[str, ...] = ()) -> str:
    """Return a file without the line of one fact; all other lines are unchanged."""
    number = next((fact.line for fact in read(markdown, path, taken) if fact.id == fact_id), None)
    if number is None:
        return markdown
    lines = markdown.split("\n")
    del lines[number - 1]
    return "\n".join(lines)


def has_comment(line: str) -> bool:
    """Return whether a line ends with a comment that has the values of its fact."""
    start = line.rfind("<!--")
    return start >= 0 and _COMMENT.fullmatch(line, start) is not None


@lru_cache(maxsize=LINE_CACHE_SIZE)
def _fact_at(line: str, number: int, path: str) -> Fact | None:
    fact = _fact_in(line)
    return None if fact is None else replace(fact, line=number, path=path)


@lru_cache(maxsize=LINE_CACHE_SIZE)
def _fact_in(line: str) -> Fact | None:
    """Return the fact of a line, None if it is no bullet; missing and invalid values get their defaults."""
    bullet = _BULLET.match(line)
    if bullet is None or _RULE.fullmatch(line.strip()):
        return None
    text, meta = bullet["text"], {}
    start = text.rfind("<!--")
    comment = _COMMENT.fullmatch(text, start) if start >= 0 else None
    if comment is not None:
        text = text[:start]
        meta = {pair["name"]: pair["value"] for pair in _PAIR.finditer(comment["meta"])}
    text = one_line(_unescape(text))
    if not text:
        return None
    fact_id, category, earlier = (meta.get(name, "") for name in ("id", "category", "supersedes"))
    return Fact(
        id=fact_id if ID_LETTERS.fullmatch(fact_id) else _id_of(text),
        text=text,
        importance=_importance(meta.get("importance", "")),
        named_category=category if category in CATEGORIES else "",
        created_ms=_moment(meta.get("created", "")),
        supersedes=earlier if ID_LETTERS.fullmatch(earlier) else "",
    )


def _free_id(wanted: str, seen: Container[str]) -> str:
    """Return an id that no earlier line has."""
    numbered = (f"{wanted}-{copy}" for copy in count(2))
    return next(each for each in chain([wanted], numbered) if each not in seen)


def _id_of(text: str) -> str:
    return "text-" + sha256(text.encode()).hexdigest()[:16]


def _importance(value: str) -> float:
    """Return an importance from 0 to 1; the default for anything else."""
    try:
        number = float(value)
    except ValueError:
        return DEFAULT_IMPORTANCE
    return number if 0 <= number <= 1 else DEFAULT_IMPORTANCE


def _moment(value: str) -> int | None:
    """Return a moment in epoch milliseconds; None for what is none. Without a zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    whole_ms = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    return whole_ms if 0 <= whole_ms <= MAX_DATE_MS else None


def _stamp(created_ms: int) -> str:
    """Return a time in ISO 8601, in UTC, with milliseconds if there are any."""
    moment = datetime.fromtimestamp(created_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{created_ms % 1000:03d}Z" if created_ms % 1000 else f"{moment}Z"


def _escape(text: str) -> str:
    """Return a text with the delimiters of comments escaped as in HTML."""
    text = re.sub(r"&(?=(?:lt|gt|amp);)", "&amp;", text)
    text = re.sub(r"<(?=!--)", "&lt;", text)
    return re.sub(r"(?:(?<=--)|(?<=--!))>", "&gt;", text)


def _unescape(text: str) -> str:
    return re.sub(r"&(lt|gt|amp);", lambda sign: {"lt": "<", "gt": ">", "amp": "&"}[sign[1]], text)
