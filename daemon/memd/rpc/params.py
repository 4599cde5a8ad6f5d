"""Decoding and validation of request parameters: types, lengths and ranges.

A new parameter needs a line in `COMMON` or `BOUNDS`; `test_param_bounds.py` checks that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from memd.lifecycle.flush.flushes import MAX_KEY_CHARS
from memd.lifecycle.notes.daily import MAX_ENTRY_BYTES as MAX_NOTE_ENTRY_BYTES
from memd.search.query import MAX_QUERY_CHARS
from memd.text.query.since import parse_since
from memd_client.errors import BadParamsError, PathRefusedError
from memd_client.messages import REQUESTS, SearchAgentsParams, SearchParams

MAX_PATH_CHARS = 4_096
"""PATH_MAX: no system opens a longer path."""

MAX_INDEX_PATH_CHARS = 32_768
"""Limit of a path in the index, which is opened directory by directory and may exceed PATH_MAX."""

MAX_FACT_CHARS = 4_000
"""A fact is a sentence or two; longer text belongs in a note."""

MAX_PROMPT_CHARS = 1_000_000
"""Limit of a prompt that facts are recalled for. Only its start is compared."""

MAX_PROJECTS = 64
"""Active projects at once; OpenClaw names four at most. A key may be a path."""

MAX_AGENTS = 256
"""Agents named in one request; a user has tens of them."""

MAX_TEXTS_CHARS = 4_000_000
"""Limit of all texts of one request together."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The limits of a parameter.

    Attributes:
        chars: Characters of a text (bytes of binary data); of all texts together in a list or a map.
        items: Items of a list or a map, including nested ones; 0 for a parameter that is neither.
    """

    chars: int
    items: int = 0


_AGENT = Bound(256)
_WORD = Bound(64)
_KEY = Bound(MAX_KEY_CHARS)
_NAMES = Bound(4_096, items=64)

_PATHS = frozenset("path paths project active_projects cwd transcript transcript_path ref".split())
"""Parameters that are paths, or may be."""

COMMON: Mapping[str, Bound] = {
    "agent": _AGENT,
    "kind": _WORD,
    "category": _WORD,
    "session_key": _KEY,
    "session_id": _KEY,
    "session_kind": _WORD,
    "exclude_session": _KEY,
    "active_projects": Bound(MAX_PROJECTS * MAX_PATH_CHARS, items=MAX_PROJECTS),
    "query": Bound(MAX_QUERY_CHARS),
    "path": Bound(MAX_INDEX_PATH_CHARS),
    "sources": _NAMES,
    "project": Bound(MAX_PATH_CHARS),
    "since": _WORD,
    "id": Bound(128),
}
"""Limits of parameters with the same meaning in all requests."""

BOUNDS: Mapping[str, Mapping[str, Bound]] = {
    "search_agents": {"agents": Bound(MAX_AGENTS * _AGENT.chars, items=MAX_AGENTS)},
    "hello": {"client": Bound(256), "version": Bound(256), "state_dir": Bound(4096)},
    "embed": {"texts": Bound(MAX_TEXTS_CHARS, items=10_000)},
    "model": {"ref": Bound(MAX_PATH_CHARS), "action": _WORD},
    "tools": {"shape": _WORD, "include": _NAMES},
    "call_tool": {"name": Bound(256), "arguments": Bound(65_536, items=1_000)},
    "prompt_section": {"tools": _NAMES, "citations": _WORD},
    "session_ended": {
        "transcript": Bound(MAX_PATH_CHARS),
        "slug": _KEY,
        "channel": _KEY,
        "reason": _WORD,
        "next_session_id": _KEY,
    },
    "flush_check": {"workspace_access": _WORD},
    "hook": {
        "program": _WORD,
        "event": _WORD,
        "cwd": Bound(MAX_PATH_CHARS),
        "prompt": Bound(MAX_PROMPT_CHARS),
        "reason": _KEY,
        "transcript_path": Bound(MAX_PATH_CHARS),
    },
    "append_note": {"text": Bound(MAX_NOTE_ENTRY_BYTES), "date": _WORD, "key": Bound(128)},
    "memory_store": {
        "text": Bound(MAX_FACT_CHARS),
        "vector": Bound(64 * 1024),
        "vector_model": Bound(MAX_PATH_CHARS),
    },
    "memory_edit": {"text": Bound(MAX_FACT_CHARS), "expected_text": Bound(MAX_FACT_CHARS)},
    "facts_for_prompt": {"prompt": Bound(MAX_PROMPT_CHARS)},
    "capture_facts": {"messages": Bound(MAX_TEXTS_CHARS, items=100_000)},
    "subscribe": {"kinds": _NAMES},
    "sources": {"action": _WORD, "name": _WORD, "session": _KEY},
    "remote": {
        "action": _WORD,
        "url": Bound(2_048),
        "missing": _WORD,
        "paths": Bound(64 * MAX_PATH_CHARS, items=1_000),
    },
    "conversation_read": {"session": Bound(MAX_PATH_CHARS)},
}
"""Limits of the other parameters, by request."""

MAX_COUNT = 2**53
"""The largest integer that numbers of all clients represent exactly, including JavaScript's."""


MAX_MATCHES = 10
"""Ids listed in the error for a prefix that matches several."""

MAX_RESULTS = 1000
"""Limit of hits: with full snippets, more would approach the frame limit."""

MAX_CHARS = 100_000
"""Limit of the characters of all snippets: about 25,000 tokens."""

_SOURCE = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def decode_params(name: str, params: Any) -> Any:
    """Return a request's parameters as their record. Unknown keys are ignored."""
    if not isinstance(params, dict):
        raise BadParamsError(f"{name}: params must be a map, not {_type_name(params)}")
    check_bounds(name, params)
    try:
        return msgspec.convert(params, REQUESTS[name][0], strict=True)
    except msgspec.ValidationError as error:
        raise _bad_params(name, str(error)) from None


def _bad_params(name: str, reason: str) -> BadParamsError:
    """Convert a message like "Expected `str`, got `int` - at `$.query`" to a `BadParamsError`."""
    missing = re.match(r"Object missing required field `(\w+)`", reason)
    if missing:
        return BadParamsError(f"{name}: `{missing[1]}` is missing", data={"field": missing[1]})
    wrong = re.match(r"Expected `(.+?)`, got `(.+?)`(?: - at `\$\.(.+)`)?$", reason)
    if wrong:
        field = wrong[3] or "params"
        kinds = {"expected": wrong[1], "got": wrong[2]}
        message = f"{name}: `{field}` must be {wrong[1]}, not {wrong[2]}"
        return BadParamsError(message, data={"field": field, **kinds})
    return BadParamsError(f"{name}: {reason[:200]}")


def _type_name(value: Any) -> str:
    """Return a type's name in the protocol."""
    return {"NoneType": "nil", "list": "array"}.get(type(value).__name__, type(value).__name__)


def bound_of(request: str, field: str) -> Bound | None:
    """Return the limits of a parameter; None if it has none."""
    return BOUNDS.get(request, {}).get(field) or COMMON.get(field)


def check_bounds(request: str, params: Mapping[Any, Any]) -> None:
    """Raise if a parameter exceeds its limits; numbers must be finite, and unknown parameters are not checked."""
    for field, value in params.items():
        for each in value if field in _PATHS and isinstance(value, list) else (value,):
            _check_scalar(request, field, each)
        if not isinstance(value, str | bytes | list | dict):
            continue
        bound = bound_of(request, field) if isinstance(field, str) else None
        if bound is None:
            continue
        if isinstance(value, str) and len(value) > bound.chars:
            raise wrong(request, field, f"must have at most {bound.chars} characters")
        if isinstance(value, bytes) and len(value) > bound.chars:
            raise wrong(request, field, f"must have at most {bound.chars} bytes")
        if isinstance(value, list | dict):
            _check_inside(request, field, value, bound)


def _check_scalar(request: str, field: str, value: Any) -> None:
    """Raise if a value is a number that isn't finite, or a text that can't be a path on any system."""
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(request, field, "must be a finite number")
    if field in _PATHS and isinstance(value, str) and "\0" in value:
        hint = "remove it: no file system allows it in a path"
        raise PathRefusedError(f"{request}: `{field}` has a NUL character", hint=hint, data={"field": field})


def _check_inside(request: str, field: str, value: list[Any] | dict[Any, Any], bound: Bound) -> None:
    """Raise if a list or map has too many items, or its texts too many characters."""
    left: list[Any] = [value]
    items = chars = 0
    while left:
        each = left.pop()
        if isinstance(each, str | bytes):
            chars += len(each)
        elif isinstance(each, list | dict):
            items += len(each)
            if items <= bound.items:
                left.extend(each if isinstance(each, list) else (*each.keys(), *each.values()))
        if items > bound.items:
            raise wrong(request, field, f"must hold at most {bound.items} values")
        if chars > bound.chars:
            raise wrong(request, field, f"must hold at most {bound.chars} characters in all")


def wrong(request: str, field: str, reason: str, hint: str | None = None) -> BadParamsError:
    """Return what is wrong with a parameter."""
    return BadParamsError(f"{request}: `{field}` {reason}", hint=hint, data={"field": field})


def check_filled(request: str, field: str, text: str) -> None:
    """Raise unless a text says something."""
    if not text.strip():
        raise wrong(request, field, "must not be empty")


def match_prefix(request: str, field: str, prefix: str, ids: Iterable[str]) -> str:
    """Return the id that equals a prefix, else the only id that begins with it.

    Raises:
        BadParamsError: No id begins with it, or several do; the hint lists them.
    """
    matches = sorted({each for each in ids if each.startswith(prefix)})
    if prefix in matches or len(matches) == 1:
        return prefix if prefix in matches else matches[0]
    if not matches:
        raise wrong(
            request, field, f"{prefix[:80]!r} matches nothing", "check the id, or its first characters"
        )
    more = f" and {len(matches) - MAX_MATCHES} more" if len(matches) > MAX_MATCHES else ""
    shown = ", ".join(each[:120] for each in matches[:MAX_MATCHES])
    raise wrong(
        request, field, f"{prefix[:80]!r} matches {len(matches)} ids", f"repeat it with one of {shown}{more}"
    )


def check_count(request: str, field: str, number: int | None) -> None:
    """Raise if a number is given and negative or too large for the wire."""
    if (number or 0) < 0:
        raise wrong(request, field, "must not be negative")
    if (number or 0) > MAX_COUNT:
        raise wrong(request, field, "must be at most 2**53")


def check_projects(request: str, keys: Sequence[str] | None) -> None:
    """Raise if a key of an active project is empty, too long, or not text."""
    for key in keys or ():
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_PATH_CHARS:
            expected = f"must be keys of 1 to {MAX_PATH_CHARS} characters"
            raise wrong(request, "active_projects", expected)


def check_word(request: str, field: str, word: str | None, known: Collection[str]) -> None:
    """Raise if a word is given and unknown."""
    if word is not None and word not in known:
        raise wrong(request, field, f"must be one of {', '.join(known)}")


def check_sources(request: str, sources: Sequence[str] | None) -> None:
    """Raise if sources are given that can't be names of sources."""
    if sources is not None and (not sources or not all(map(_SOURCE.fullmatch, sources))):
        raise wrong(request, "sources", "must be one or more of memory, sessions, or names of other sources")


def check_time(request: str, since: str | None) -> None:
    """Raise if an earliest time is given that is neither a day nor a duration."""
    if since is not None and parse_since(since, 0) is None:
        hint = "pass a day such as 2026-11-02, or a duration such as 12h, 7d or 4w"
        raise wrong(request, "since", "must be a day or a duration", hint)


def check_search(request: str, params: SearchParams | SearchAgentsParams) -> None:
    """Raise if a number of a search is out of its range, or a source unknown."""
    if params.max_results is not None and not 1 <= params.max_results <= MAX_RESULTS:
        raise wrong(request, "max_results", f"must be from 1 to {MAX_RESULTS}")
    if params.max_chars is not None and not 1 <= params.max_chars <= MAX_CHARS:
        hint = "pass the characters that all snippets together may have, such as 4200"
        raise wrong(request, "max_chars", f"must be from 1 to {MAX_CHARS}", hint)
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong(request, "deadline_ms", "must be at least 1")
    check_sources(request, params.sources)
    check_time(request, params.since)
    check_projects(request, params.active_projects)
