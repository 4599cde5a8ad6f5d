"""What kind of session a key names: it decides what the session may see, and whether replies cite memory."""

from __future__ import annotations

from typing import Literal, get_args

from memd.settings.lifecycle import Citations
from memd.text.transcripts.messages import kind_of_key

Kind = Literal["main", "direct", "group", "channel", "subagent", "cron", "heartbeat"]

KINDS: tuple[Kind, ...] = get_args(Kind)

SHARED: frozenset[Kind] = frozenset({"group", "channel"})
"""Others read along."""

_MAIN = "main"
_PARTS_OF_A_TALK = ("thread", "topic")
"""What may follow the main key: a thread of the same talk."""

_BACKGROUND: dict[str, Kind] = {
    "cron": "cron",
    "dreaming": "cron",
    "internal": "cron",
    "heartbeat": "heartbeat",
    "subagent": "subagent",
}
"""Sessions without a person, by what transcripts call them."""


def kind_of_session(session_key: str, agent_id: str) -> Kind:
    """Return what kind of session a key names; `direct` if it doesn't say."""
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
    if parts[0] == _MAIN and owner == agent_id and (len(parts) == 1 or parts[1] in _PARTS_OF_A_TALK):
        return "main"
    return "direct"


def settle_kind(given: str | None, session_key: str, agent_id: str) -> Kind:
    """Return the kind a caller names, or the key's if it names none.

    A caller who takes a group's key for the main session is not believed: what is private stays private.
    """
    of_key = kind_of_session(session_key, agent_id)
    named = next((kind for kind in KINDS if kind == given), None)
    if named is None or (named == "main" and of_key not in ("main", "direct")):
        return of_key
    return named


CITATION_MODES: tuple[Citations, ...] = ("auto", "on", "off")


def wants_citations(mode: Citations, kind: Kind) -> bool:
    """Return whether places are named."""
    return mode == "on" or (mode == "auto" and kind not in SHARED)
