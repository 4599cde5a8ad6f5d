"""Secrets that only a name before them tells: `api_key=...`, `password: ...`, and how people write them in chats."""

from __future__ import annotations

import math
import re
from collections import Counter

MARK = "[redacted:"
"""How what stands in a secret's place begins; its kind and a bracket follow."""

_NAMES = (
    *("key", "token", "secret", "credential", "authorization"),
    *("password", "passwd", "passphrase", "passcode", "pwd", "密码", "口令", "パスワード", "비밀번호"),
)
"""Names in lower case. A bare `key` is none: see `_KEY_OF`."""

_KEY_OF = re.compile(
    r"(?:api|app|secret|access|private|account|auth|encryption|signing|master|license|service)[ _-]?$"
)
"""What a key must be of to be a secret; primary, session and cache keys aren't."""

_NAME = re.compile("|".join(_NAMES))

_TOKENS = ("key", "token", "secret", "credential", "authorization")
"""Names of what machines made: it looks random. All others are passwords, which people make."""

_VALUE = re.compile(
    r"""(?:s|[ _-]?(?:id|value))?(?:\\?["'`*]){0,3}
        (?P<apart>\s{0,3}(?:=>|:=|[:=：])\s{0,3}|\s(?:is|was|are)\s|[是为は는]\s?|\s)
        (?:\\?["'`*]){0,3}(?:(?:bearer|basic|token|bot)\s{1,3})?
        (?P<secret>[^\s"'`<>\\]{6,256})""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST = 256
"""Characters of a value that are looked at."""

_REST = re.compile(r"""[^\s"'`<>\\]*""")
_FLAG = re.compile(r"(?:^|\s)--[a-z-]{0,24}$")
"""Only a command's option may be parted from its value by nothing but a space."""

_PLACEHOLDER = re.compile(
    r"\[redacted|[<*{%…]|\$\{|\$[A-Za-z_]+$|x{4,}|\.{3}|your[-_]|(?:process\.)?env\b", re.IGNORECASE
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
    """Return a text without what a name calls a secret, where it may be one."""
    lowered = text.lower()
    if len(lowered) != len(text):  # one Turkish letter becomes two
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
            kept.append(f"{text[done:start]}{MARK}{kind}]")
            count += 1
            done = start + len(value)
            if end - start == _MOST:
                done = _end_of_run(text, end)
    return ("".join(kept) + text[done:] if count else text), count


def is_mixed(secret: str) -> bool:
    """Return whether letters and digits both occur."""
    return _DIGIT.search(secret) is not None and _LETTER.search(secret) is not None


def is_written_out(secret: str) -> bool:
    """Return whether something stands there that is no placeholder, variable, call, address or path."""
    return not (
        _PLACEHOLDER.match(secret)
        or _CALL.match(secret)
        or "://" in secret
        or secret.startswith(("/", "./", "~/", "../"))
    )


def may_be_password(value: str) -> bool:
    """Return whether a value may be a password: not a word, not a placeholder, not code."""
    if len(value) < 6 or not is_written_out(value) or value.lower() in _NO_PASSWORDS:
        return False
    if value.isdigit():
        return True
    return is_mixed(value) or (_LETTER.search(value) is not None and _SIGN.search(value) is not None)


def may_be_token(value: str) -> bool:
    """Return whether a value may be a key or token: long, of letters and digits, and not made of words."""
    if len(value) < 8 or not is_mixed(value) or not is_written_out(value) or _DATE.match(value):
        return False
    if all(_PART.fullmatch(part) for part in _BETWEEN_PARTS.split(value)):
        return False
    if len(value) < 16 and sum(c.isdigit() for c in value) < 3:
        return False
    return _entropy(value) >= 2.5


def _end_of_run(text: str, start: int) -> int:
    """Return where a value ends that is longer than what was looked at."""
    rest = _REST.match(text, start)
    return rest.end() if rest is not None else start


def _entropy(value: str) -> float:
    """Return how many bits a character of a value carries by itself."""
    length = len(value)
    return -sum(n / length * math.log2(n / length) for n in Counter(value).values())
