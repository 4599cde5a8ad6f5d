"""Redaction of keys, tokens and passwords in a text before it is indexed.

`secrets.txt` lists kinds of secrets with a documented format; each is matched only at its anchors. Other secrets are
recognized by the name before them (`api_key=...`, `password: ...`). A match is bounded in length or consumes all it
reads, so the work is linear in the text. Values that only look random (hashes, UUIDs, base64) stay, unless a name
before them marks a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from memd.text.data_files import read_sections
from memd.text.lazy_pattern import lazy_pattern

REDACTION_MARK = "[redacted:"
"""Start of a redaction mark; the kind of the secret and a bracket follow."""

_NAMES = (
    *("key", "token", "secret", "credential", "authorization"),
    *("password", "passwd", "passphrase", "passcode", "pwd", "密码", "口令", "パスワード", "비밀번호"),
)
"""Names of secrets in lower case. `key` counts only after a word of `_KEY_OF`."""

_KEY_OF = re.compile(
    r"(?:api|app|secret|access|private|account|auth|encryption|signing|master|license|service)[ _-]?$"
)
"""Words that make a following `key` a secret; primary, session and cache keys are not secrets."""

_NAME = lazy_pattern("|".join(_NAMES))

_TOKENS = ("key", "token", "secret", "credential", "authorization")
"""Names of generated secrets, which look random. All others name passwords, chosen by people."""

_VALUE = lazy_pattern(
    r"""(?:s|[ _-]?(?:id|value))?(?:\\?["'`*]){0,3}
        (?P<apart>\s{0,3}(?:=>|:=|[:=：])\s{0,3}|\s(?:is|was|are)\s|[是为は는]\s?|\s)
        (?:\\?["'`*]){0,3}(?:(?:bearer|basic|token|bot)\s{1,3})?
        (?P<secret>[^\s"'`<>\\]{6,256})""",
    re.IGNORECASE | re.VERBOSE,
)
_MAX_VALUE_CHARACTERS = 256
"""Most characters of a value that are read."""

_REST = re.compile(r"""[^\s"'`<>\\]*""")
_FLAG = re.compile(r"(?:^|\s)--[a-z-]{0,24}$")
"""A command-line option: only its value may follow after nothing but a space."""

_PLACEHOLDER = lazy_pattern(
    r"\[redacted|[<*{…]|%(?:[a-z]\b|[a-z_]+%|[({@])|\$\{|\$[A-Za-z_]+$|x{4,}|\.{3}|your[-_]|(?:process\.)?env\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"[A-Za-z_][\w.]*+[(\[]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_PART = re.compile(r"[A-Za-z]*\d{0,2}|\d{0,8}|v\d+")
_BETWEEN_PARTS = re.compile(r"[-_./:@#,+]")
_NEXT_PARAMETER = re.compile(r"&[\w.-]+=")
_NO_PASSWORDS = frozenset({"1password", "lastpass", "bitwarden", "string", "undefined", "required"})
_SIGN = re.compile(r"[!@#$%^&*+=?~](?!$)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_QUOTES = ("'", '"', "`")
_CLOSING = ".,:;!?)]}|，。；）"


def redact_named(text: str) -> tuple[str, int]:
    """Return a text with the values of secret names redacted, and their number."""
    lowered = text.lower()
    if len(lowered) != len(text):  # the Turkish dotted I becomes two letters in lower case
        lowered = text.replace("\u0130", "i").lower()
    if not any(name in lowered for name in _NAMES):
        return text, 0
    kept: list[str] = []
    done = count = 0
    for name in _NAME.finditer(lowered):
        if name.start() < done or (
            name[0] == "key" and not _KEY_OF.search(lowered[max(0, name.start() - 12) : name.start()])
        ):
            continue
        match = _VALUE.match(text, name.end())
        if match is None or (
            match["apart"].isspace() and not _FLAG.search(lowered[max(0, name.start() - 32) : name.start()])
        ):
            continue
        start, end = match.span("secret")
        value = _NEXT_PARAMETER.split(match["secret"], maxsplit=1)[0]
        if text[end : end + 1] not in _QUOTES:
            value = value.rstrip(_CLOSING)
        kind = "secret" if name[0] in _TOKENS else "password"
        if may_be_token(value) if kind == "secret" else may_be_password(value):
            kept.append(f"{text[done:start]}{REDACTION_MARK}{kind}]")
            count += 1
            done = start + len(value)
            if end - start == _MAX_VALUE_CHARACTERS:
                done = _end_of_run(text, end)
    return ("".join(kept) + text[done:] if count else text), count


def is_mixed(secret: str) -> bool:
    """Return whether a value contains letters and digits."""
    return _DIGIT.search(secret) is not None and _LETTER.search(secret) is not None


def is_literal(secret: str) -> bool:
    """Return whether a value is not a placeholder, variable, call, address or path."""
    return not (
        _PLACEHOLDER.match(secret)
        or _CALL.match(secret)
        or "://" in secret
        or secret.startswith(("/", "./", "~/", "../"))
    )


def may_be_password(value: str) -> bool:
    """Return whether a value may be a password, rather than a word, placeholder or code."""
    if len(value) < 6 or not is_literal(value) or value.lower() in _NO_PASSWORDS:
        return False
    if value.isdigit():
        return True
    return is_mixed(value) or (_LETTER.search(value) is not None and _SIGN.search(value) is not None)


def may_be_token(value: str) -> bool:
    """Return whether a value may be a key or token: long, letters and digits, not made of words."""
    if len(value) < 8 or not is_mixed(value) or not is_literal(value) or _DATE.match(value):
        return False
    if all(_PART.fullmatch(part) for part in _BETWEEN_PARTS.split(value)):
        return False
    if len(value) < 16 and sum(c.isdigit() for c in value) < 3:
        return False
    return _entropy(value) >= 2.5


def _end_of_run(text: str, start: int) -> int:
    """Return the end of a value longer than `_MAX_VALUE_CHARACTERS`."""
    rest = _REST.match(text, start)
    return rest.end() if rest is not None else start


def _entropy(value: str) -> float:
    """Return the entropy of a value in bits per character."""
    length = len(value)
    return -sum(n / length * math.log2(n / length) for n in Counter(value).values())


_MIN_TEXT_CHARACTERS = 10
"""Shorter texts contain no secret with its name."""

_MAX_PASSES = 8
"""Most passes of all rules: redacting one secret can expose another."""

_MIN_RUN_CHARACTERS = 15
"""Most kinds of secrets need a run of this length without a space; most transcript lines have none."""

_MAX_PREFIX_CHARACTERS = 32
"""Characters before an anchor that may belong to the secret."""


def _is_dense(secret: str) -> bool:
    """Return whether a hyphenated value has a part too long for a word: keys do, package names do not."""
    return any(len(part) >= 16 for part in re.split("[-_]", secret))


class _Secret(Struct, frozen=True):
    """A kind of secret: a row of `secrets.txt`."""

    name: str
    anchors: tuple[str, ...]
    shape: re.Pattern[str]
    before: re.Pattern[str] | None
    is_plausible: Callable[[str], bool] | None


def _read_row(row: str) -> _Secret:
    name, anchors, rest, *options = re.split(" {2,}", row)
    named = dict(each.split("=", 1) for each in options if "=" in each)
    words = tuple(anchors.split())
    apart = named.get("apart", "A-Za-z0-9")
    start = f"(?<![{apart}])" if apart else ""
    first = f"(?:{'|'.join(map(re.escape, words))}){rest}"
    before = lazy_pattern(f"{start}{named['before']}$") if "before" in named else None
    shape = lazy_pattern(first if before else start + first)
    return _Secret(
        name, words, shape, before, next((_CHECKS[each] for each in options if each in _CHECKS), None)
    )


_CHECKS: dict[str, Callable[[str], bool]] = {
    "dense": _is_dense,
    "mixed": is_mixed,
    "written-out": is_literal,
}
_TABLE = read_sections(Path(__file__).with_suffix(".txt"))
_APART = tuple(map(_read_row, _TABLE["apart"]))
SECRET_KINDS = (*_APART, *map(_read_row, _TABLE["whole"]))
_ANCHORED_APART = [(anchor, row) for row in _APART for anchor in row.anchors]
_ANCHORED = [(anchor, row) for row in SECRET_KINDS for anchor in row.anchors]

_KEY_BEGIN = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}"
)
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(
    r"(?:(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{24,}+|(?:Proc-Type|DEK-Info|Version|Comment): ?\S++))*+"
)
_KEY_TAIL = re.compile(r"(?:\s|\\[nr])*+(?=[A-Za-z+/]{0,80}[0-9=])[A-Za-z0-9+/=]{1,80}+")

_MAX_KEY_CHARACTERS = 32_768
"""Longest private key between its first and last line."""


def redact(text: str) -> tuple[str, int]:
    """Return a text with its secrets redacted, and their number."""
    count = 0
    for _ in range(_MAX_PASSES):
        text, found = _redact_once(text)
        count += found
        if not found:
            break
    return text, count


def _redact_once(text: str) -> tuple[str, int]:
    """Return a text after one pass of all rules, and the number of redactions."""
    if len(text) < _MIN_TEXT_CHARACTERS:
        return text, 0
    count = 0
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        text, count = _redact_private_keys(text)
    longest = max(map(len, text.split()), default=0)
    for anchor, row in _ANCHORED if longest >= _MIN_RUN_CHARACTERS else _ANCHORED_APART:
        if anchor in text:
            text, found = _redact_anchored(text, anchor, row)
            count += found
    text, found = redact_named(text)
    return text, count + found


def _redact_anchored(text: str, anchor: str, row: _Secret) -> tuple[str, int]:
    """Return a text with the secrets of one kind redacted at one of its anchors, and their number."""
    group = "secret" if "secret" in row.shape.groupindex else 0
    kept: list[str] = []
    done = count = 0
    at = text.find(anchor)
    while at >= 0:
        before = (
            row.before.search(text[max(done, at - _MAX_PREFIX_CHARACTERS) : at])
            if row.before is not None
            else None
        )
        match = row.shape.match(text, at) if row.before is None or before is not None else None
        if match is None:
            at = text.find(anchor, at + 1)
            continue
        start = match.start(group) - (len(before[0]) if before is not None else 0)
        if row.is_plausible is None or row.is_plausible(text[start : match.end(group)]):
            kept.append(f"{text[done:start]}{REDACTION_MARK}{row.name}]")
            done = match.end(group)
            count += 1
        at = text.find(anchor, match.end())
    return ("".join(kept) + text[done:] if count else text), count


def _redact_private_keys(text: str) -> tuple[str, int]:
    """Return a text with private keys redacted, also single-line and incomplete ones, and their number."""
    kept: list[str] = []
    done = count = 0
    end = _KEY_END.search(text)
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        while end is not None and end.start() < begin.end():
            end = _KEY_END.search(text, end.end())
        if end is not None and 16 <= end.start() - begin.end() <= _MAX_KEY_CHARACTERS:
            stop = end.end()
        else:
            stop = _end_of_cut_key(text, begin.end())
        if stop > begin.end():
            kept.append(f"{text[done : begin.start()]}{REDACTION_MARK}private-key]")
            done = stop
            count += 1
    return "".join(kept) + text[done:], count


def _end_of_cut_key(text: str, start: int) -> int:
    """Return the end of an incomplete private key; `start` if it has no lines."""
    body = _KEY_BODY.match(text, start)
    if body is None or body.end() == start:
        return start
    tail = _KEY_TAIL.match(text, body.end())
    return tail.end() if tail is not None else body.end()
