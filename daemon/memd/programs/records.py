"""JSON records of programs' transcripts: decoded without raising, whatever they contain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from memd.programs.values import LATEST_MS
from memd.text.transcripts.injected import without_injected
from memd.text.transcripts.tags import opens_with_tag

T = TypeVar("T")

MAX_TITLE_CHARS: Final = 200
MAX_TYPE_CHARS: Final = 60
MAX_UNKNOWN_TYPES: Final = 50
"""Unknown types that are counted apart."""

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
"""An escape in a JSON string; the group is a surrogate without its other half."""

_NO_REQUEST = re.compile(r"!|/[a-z][\w:.-]*(?:\s|$)|Caveat: The messages below|# AGENTS\.md instructions\b")
"""How prompts begin that are no requests: commands of the shell and of the program, and text that programs add."""

_PLACEHOLDER = re.compile(
    r"(?:New|Child) session - \d{4}-\d\d-\d\d.*|(?:New|Untitled) (?:Agent|Chat|Session)"
)
"""Titles that opencode, Cursor and Continue give to sessions that have no title yet."""


def decode_record(data: bytes | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return a JSON record, None if it is broken; invalid UTF-8 and lone surrogates become U+FFFD."""
    if data is None:
        return None
    try:
        return decoder.decode(data)
    except RecursionError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        repaired = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
        repaired = repaired.decode("utf-8", "replace").encode()
        if repaired == data:
            return None
    try:
        return decoder.decode(repaired)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def is_set(value: object) -> bool:
    """Return whether a mark of a record is set: anything but null, false, zero and empty values."""
    return bool(value)


def is_marked(value: object) -> bool:
    """Return whether a mark that makes text a machine's is set: with anything but null and false, if in doubt."""
    return value is not None and value is not False


def is_utf8(line: bytes) -> bool:
    """Return whether a line is valid UTF-8: otherwise the name of a mark may be damaged too."""
    try:
        return line.isascii() or bool(line.decode())
    except UnicodeDecodeError:
        return False


def text_of(value: object) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def part_of(value: object, path: str | Sequence[object]) -> Any:
    """Return the part of a JSON value at a path, the value itself for an empty one; None if it has none."""
    for name in (path.split(".") if path else ()) if isinstance(path, str) else path:
        if isinstance(value, dict) and isinstance(name, str):
            value = value.get(name)
        elif (
            isinstance(value, list)
            and str(name)[:9].isdecimal()
            and (number := int(str(name)[:9])) < len(value)
        ):
            value = value[number]
        else:
            return None
    return value


def title_of(text: str) -> str:
    """Return a text as a title: one line, cut."""
    return " ".join(text[: MAX_TITLE_CHARS * 4].split())[:MAX_TITLE_CHARS]


def session_title(recorded: str, prompts: Iterable[str]) -> str:
    """Return the recorded title of a conversation, else its first request, else its first command or added text."""
    if recorded and _PLACEHOLDER.fullmatch(recorded) is None:
        return recorded
    first = ""
    for prompt in prompts:
        title = title_of(without_injected(prompt))
        if title and not opens_with_tag(title) and _NO_REQUEST.match(title) is None:
            return title
        first = first or title
    return first


def count_unknown(unknown: Counter[str], kind: str) -> None:
    """Count a record of an unknown type: under "" once there are too many types."""
    kind = kind[:MAX_TYPE_CHARS]
    unknown[kind if kind in unknown or len(unknown) < MAX_UNKNOWN_TYPES else ""] += 1


def time_ms_of(value: object) -> int | None:
    """Return a time in milliseconds UTC from a number of them or a text in ISO 8601; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 < value <= LATEST_MS else None


def path_of_uri(uri: str) -> str:
    """Return the path in a `file:` URI; empty for a remote one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path, errors="replace") if parts.scheme == "file" and not parts.netloc else ""
