"""Text from a provider or hub, made fit for messages: no configured secret, no control character, bounded.

Providers and proxies repeat keys and headers in their errors, plain or encoded. Every word of theirs that may
reach a reply, the log, status or a file passes a `Redactor` where it is read from the reply.
"""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from memd.embedding.secret import Secret

REDACTED: Final = "[redacted]"

MAX_CHARACTERS: Final = 200
"""The longest text of a provider in a message."""

MIN_SECRET: Final = 4
"""A shorter value can't be told from ordinary words; it is not looked for."""

WINDOW: Final = 8
"""So many characters of a secret in a row give it away."""

_DEPTH: Final = 3
"""How many encodings on top of each other are undone."""

_MAX_FORMS: Final = 256

_SCHEME: Final = re.compile(r"(?i)(bearer|basic|token|digest|apikey|negotiate)\s+")
_BETWEEN_PARTS: Final = re.compile(r"[\s;,&=:]+")
_JSON_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_HEX_RUN: Final = re.compile(r"(?:[0-9a-fA-F]{2}[\s:,-]?){4,}")
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}")
_NOT_HEX: Final = re.compile(r"[^0-9a-fA-F]")


class Redactor:
    """Finds configured secrets in foreign text, in any of the usual encodings."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secrets)

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} secrets>"

    def clean(self, text: str, most: int = MAX_CHARACTERS) -> str:
        """Return one line of at most `most` printable characters; `[redacted]` if it shows a secret."""
        shown = "".join(one if one.isprintable() else " " for one in text[: 4 * most])
        return REDACTED if self.shows(text[: 4 * most]) else " ".join(shown.split())[:most]

    def shows(self, text: str, least: int = MIN_SECRET) -> bool:
        """Return whether a text holds a secret or a part that gives it away, plain, encoded or in other case."""
        needles = [needle for needle in self._needles if len(needle) >= least]
        if not needles:
            return False
        squashed = _squash(text)
        if len(squashed) >= least and any(squashed in whole for whole in self._wholes):
            return True
        return any(
            needle in form
            for plain in _forms(text)
            for form in (_squash(plain), plain.casefold())
            for needle in needles
        )

    @cached_property
    def _parts(self) -> frozenset[str]:
        """Return the secrets, and the parts of those that are put together of several."""
        return frozenset(
            part for secret in self._secrets for part in _parts(secret) if len(part) >= MIN_SECRET
        )

    @cached_property
    def _wholes(self) -> frozenset[str]:
        return frozenset(map(_squash, self._parts))

    @cached_property
    def _needles(self) -> frozenset[str]:
        needles = {part.casefold() for part in self._parts}
        for part in self._parts:
            for form in (part, *_base64_cores(part)):
                needles.update(_windows(_squash(form)))
        return frozenset(needles)


def redactor_of(
    key: Secret | None = None, headers: Mapping[str, str] | None = None, url: str = ""
) -> Redactor:
    """Return what keeps configured secrets out of messages; passwords of proxies in the environment included."""
    keys = [key.reveal()] if key else []
    return Redactor(
        [*keys, *(headers or {}).values(), *url_secrets([url, *os.environ.values()]), _query(url)]
    )


def url_secrets(values: Iterable[str]) -> list[str]:
    """Return the names and passwords in URLs, such as those of proxies."""
    found: list[str] = []
    for value in values:
        if "@" not in value:
            continue
        try:
            login = urlsplit(value if "://" in value else f"//{value}").netloc.rpartition("@")[0]
        except ValueError:
            continue
        user, _, password = login.partition(":")
        if not password and "://" not in value:
            continue  # an e-mail address
        found += [user, unquote(user), password, unquote(password)]
    return found


def _query(url: str) -> str:
    try:
        return urlsplit(url).query
    except ValueError:
        return ""


def _parts(secret: str) -> Iterator[str]:
    """Yield a secret without its scheme, its parts, and for `Basic` what is encoded in it."""
    scheme = _SCHEME.match(secret)
    bare = secret[scheme.end() :] if scheme else secret
    yield bare
    yield from _BETWEEN_PARTS.split(bare)
    if scheme and scheme[1].lower() == "basic":
        for decoded in _base64_decoded(bare, (0,)):
            yield decoded
            yield decoded.partition(":")[2]


def _squash(text: str) -> str:
    """Return the letters and digits of a text, without their case."""
    return "".join(filter(str.isalnum, text.casefold()))


def _windows(text: str) -> Iterator[str]:
    """Yield every stretch of a secret that gives it away."""
    if len(text) >= MIN_SECRET:
        for start in range(max(1, len(text) - WINDOW + 1)):
            yield text[start : start + WINDOW]


def _base64_cores(text: str) -> Iterator[str]:
    """Yield what a text looks like inside of base64, at each of three places, without what its neighbours change.

    Decoding finds it, too, but not where letters lost their case, as in the name of a host.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + text.encode("utf-8", "replace")).decode()
        yield encoded[(0, 2, 3)[before] :].rstrip("=")[:-1]


def _forms(text: str) -> set[str]:
    """Return a text with what it may stand for, encodings undone one after the other."""
    forms, latest = {text}, {text}
    for _ in range(_DEPTH):
        latest = {form for each in latest for form in _decoded(each)} - forms
        forms |= latest
        if not latest or len(forms) > _MAX_FORMS:
            break
    return forms


def _decoded(text: str) -> Iterator[str]:
    """Yield what a text, or a part of it, says in each encoding it may be in."""
    yield unquote(text, errors="replace")
    yield unquote_plus(text, errors="replace")
    yield html.unescape(text)
    yield _JSON_ESCAPE.sub(_unescaped, text)
    for run in _HEX_RUN.findall(text):
        digits = _NOT_HEX.sub("", run)
        for start in (0, 1):
            whole = digits[start : start + (len(digits) - start) // 2 * 2]
            yield bytes.fromhex(whole).decode("utf-8", "replace")
    for run in _BASE64_RUN.findall(text):
        yield from _base64_decoded(run, (0, 1, 2, 3))


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else match[3]


def _base64_decoded(run: str, starts: Iterable[int]) -> Iterator[str]:
    """Yield what a run of base64, or of its form for URLs, says if it begins at each of these places."""
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    for start in starts:
        part = run[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            yield base64.b64decode(part + "=" * (-len(part) % 4)).decode("utf-8", "replace")
        except ValueError:
            continue
