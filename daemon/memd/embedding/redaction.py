"""Makes text from providers and hubs safe to show.

Providers and proxies repeat keys and headers in their errors, plain or encoded. All their text that may reach a reply,
the log, the status or a file passes a `Redactor` first.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from memd.embedding.secret import Secret

REDACTED: Final = "[redacted]"

MAX_CHARACTERS: Final = 200
"""The longest provider text in a message."""

MIN_SECRET: Final = 4
"""Shorter values are ignored: they also occur in ordinary words."""

WINDOW: Final = 8
"""Consecutive characters of a secret that count as a leak."""

_DEPTH: Final = 3
"""The number of nested encodings that are decoded."""

_MAX_FORMS: Final = 256

_SCHEME: Final = re.compile(r"(?i)(bearer|basic|token|digest|apikey|negotiate)\s+")
_BETWEEN_PARTS: Final = re.compile(r"[\s;,&=:]+")
_JSON_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_HEX_RUN: Final = re.compile(r"(?:[0-9a-fA-F]{2}[\s:,-]?){4,}")
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}")
_NOT_HEX: Final = re.compile(r"[^0-9a-fA-F]")


class Redactor:
    """Finds configured secrets in text of others, in any of the usual encodings."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secrets)

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} secrets>"

    def clean(self, text: str, max_characters: int = MAX_CHARACTERS) -> str:
        """Return the text as one printable line; `[redacted]` if it has a secret."""
        shown = "".join(
            character if character.isprintable() else " " for character in text[: 4 * max_characters]
        )
        return (
            REDACTED
            if self.has_secret(text[: 4 * max_characters])
            else " ".join(shown.split())[:max_characters]
        )

    def has_secret(self, text: str, min_characters: int = MIN_SECRET) -> bool:
        """Return whether a text contains a part of a secret, plain or encoded."""
        needles = [needle for needle in self._needles if len(needle) >= min_characters]
        if not needles:
            return False
        squashed = _squash(text)
        if len(squashed) >= min_characters and any(squashed in part for part in self._squashed_parts):
            return True
        return any(
            needle in form
            for plain in _forms(text)
            for form in (_squash(plain), plain.casefold())
            for needle in needles
        )

    @cached_property
    def _parts(self) -> frozenset[str]:
        """The secrets, and the parts of composite ones."""
        return frozenset(
            part for secret in self._secrets for part in _parts(secret) if len(part) >= MIN_SECRET
        )

    @cached_property
    def _squashed_parts(self) -> frozenset[str]:
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
    """Return a redactor of an endpoint's secrets and of proxy passwords."""
    keys = [key.reveal()] if key else []
    return Redactor(
        [*keys, *(headers or {}).values(), *url_secrets([url, *os.environ.values()]), _query(url)]
    )


def url_secrets(values: Iterable[str]) -> list[str]:
    """Return the user names and passwords in URLs, such as those of proxies."""
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
    """Yield a secret without its scheme, its parts, and the decoded login of `Basic`."""
    scheme = _SCHEME.match(secret)
    bare = secret[scheme.end() :] if scheme else secret
    yield bare
    yield from _BETWEEN_PARTS.split(bare)
    if scheme and scheme[1].lower() == "basic":
        for decoded in _base64_decoded(bare, (0,)):
            yield decoded
            yield decoded.partition(":")[2]


def _squash(text: str) -> str:
    """Return the letters and digits of a text, case folded."""
    return "".join(filter(str.isalnum, text.casefold()))


def _windows(text: str) -> Iterator[str]:
    """Yield every window of `WINDOW` characters of a secret."""
    if len(text) >= MIN_SECRET:
        for start in range(max(1, len(text) - WINDOW + 1)):
            yield text[start : start + WINDOW]


def _base64_cores(text: str) -> Iterator[str]:
    """Yield a text's base64 forms at its three alignments, without the edges.

    Decoding finds it too, except in case-folded text such as host names.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + text.encode("utf-8", "replace")).decode()
        yield encoded[(0, 2, 3)[before] :].rstrip("=")[:-1]


def _forms(text: str) -> set[str]:
    """Return a text and its decoded forms, also of nested encodings."""
    forms, latest = {text}, {text}
    for _ in range(_DEPTH):
        latest = {form for each in latest for form in _decoded(each)} - forms
        forms |= latest
        if not latest or len(forms) > _MAX_FORMS:
            break
    return forms


def _decoded(text: str) -> Iterator[str]:
    """Yield a text decoded from each usual encoding, as a whole or in part."""
    import html  # 0.4 MB of names, which an idle daemon doesn't need

    yield unquote(text, errors="replace")
    yield unquote_plus(text, errors="replace")
    yield html.unescape(text)
    yield _JSON_ESCAPE.sub(_unescaped, text)
    for run in _HEX_RUN.findall(text):
        digits = _NOT_HEX.sub("", run)
        for start in (0, 1):
            pairs = digits[start : start + (len(digits) - start) // 2 * 2]
            yield bytes.fromhex(pairs).decode("utf-8", "replace")
    for run in _BASE64_RUN.findall(text):
        yield from _base64_decoded(run, (0, 1, 2, 3))


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else match[3]


def _base64_decoded(run: str, starts: Iterable[int]) -> Iterator[str]:
    """Yield a run of base64, standard or for URLs, decoded from each of these starts."""
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    for start in starts:
        part = run[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            yield base64.b64decode(part + "=" * (-len(part) % 4)).decode("utf-8", "replace")
        except ValueError:
            continue
