"""The kind of a session, from its key: it determines which notes the session gets, and citations."""

from __future__ import annotations

from typing import Literal, get_args

from memd.settings.lifecycle import Citations
from memd.text.transcripts.messages import kind_of_key

Kind = Literal["main", "direct", "group", "channel", "subagent", "cron", "heartbeat"]

KINDS: tuple[Kind, ...] = get_args(Kind)

SHARED_KINDS: frozenset[Kind] = frozenset({"group", "channel"})
"""Kinds with several participants."""

_MAIN = "main"
_THREAD_PARTS = ("thread", "topic")
"""What may follow the main key: a thread of the same conversation."""

_BACKGROUND: dict[str, Kind] = {
    "cron": "cron",
    "dreaming": "cron",
    "internal": "cron",
    "heartbeat": "heartbeat",
    "subagent": "subagent",
}
"""Sessions without a user, by their name in transcripts."""


def kind_of_session(session_key: str, agent_id: str) -> Kind:
    """Return the kind of a session from its key; `direct` if the key has none."""
    background = kind_of_key(session_key)
    if background is not None:
        return _BACKGROUND.get(background, "subagent")
    parts = session_key.strip().lower().split(":")
    owner = agent_id
    if parts[0] == "agent" and len(parts) > 2:
        owner, parts = parts[1], parts[2:]
    for shared in ("group", "channel"):
        if shared in parts:
            return "group" if shared == "group" else "channel"
    if parts[0] == _MAIN and owner == agent_id and (len(parts) == 1 or parts[1] in _THREAD_PARTS):
        return "main"
    return "direct"


def settle_kind(given: str | None, session_key: str, agent_id: str) -> Kind:
    """Return the caller's kind, or the key's if the caller gives none.

    A caller can't declare a group's key to be the main session, so private notes stay private.
    """
    of_key = kind_of_session(session_key, agent_id)
    named = next((kind for kind in KINDS if kind == given), None)
    if named is None or (named == "main" and of_key not in ("main", "direct")):
        return of_key
    return named


def wants_citations(mode: Citations, kind: Kind) -> bool:
    """Return whether replies cite their sources."""
    return mode == "on" or (mode == "auto" and kind not in SHARED_KINDS)
