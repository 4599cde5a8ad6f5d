"""What an agent is told in the turn before its context is compacted.

Pure. Prompts of the settings say what a user wants written down; the rules that keep memory whole, and the word that
keeps the turn silent, are there in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memd.lifecycle.notes.daily import local_time, note_path
from memd.settings.lifecycle import Flush

SILENT = "NO_REPLY"
"""What an agent answers where its user shall see nothing."""

DATE = "YYYY-MM-DD"
"""Stands for the user's date in prompts."""

_TIME = "Current time:"

_PROMPT = (
    "This conversation is about to be compacted: what isn't written down now may be lost. Write down what should "
    "outlast it, in short entries that can be understood by themselves: decisions and their reasons, preferences, "
    "facts about people and projects, open tasks. Leave out small talk, secrets and what memory holds already."
)

_SYSTEM = (
    "A silent turn of housekeeping before the context is compacted. Use it to save memories that should last, and "
    "nothing else: don't go on with the user's task."
)


@dataclass(frozen=True, slots=True)
class FlushPrompts:
    """Both prompts, and the note they speak of, relative to the workspace."""

    system: str
    user: str
    path: str


def flush_prompts(settings: Flush, now_ms: int, time_zone: str | None) -> FlushPrompts:
    """Return the prompts of the turn."""
    moment = local_time(now_ms, time_zone)
    date = moment.date().isoformat()
    path = note_path(moment.date())
    rules = (
        f"Write to `{path}` only, making it where it is missing. Append below what it holds; never overwrite or "
        "shorten it. Don't edit MEMORY.md, USER.md, AGENTS.md, SOUL.md, TOOLS.md or any other file at the top of the "
        "workspace."
    )
    user = _with_date(settings.prompt, _PROMPT, date)
    system = _with_date(settings.system_prompt, _SYSTEM, date)
    silent = _with_silence(f"{user}\n\n{rules}")
    return FlushPrompts(_with_silence(f"{system}\n\n{rules}"), _timed(silent, told_time(moment)), path)


def _with_date(configured: str | None, usual: str, date: str) -> str:
    """Return a prompt of the settings, or ours where there is none, with the date in it."""
    return ((configured or "").strip() or usual).replace(DATE, date)


def _with_silence(prompt: str) -> str:
    """Return a prompt that tells how to answer nothing."""
    if SILENT in prompt:
        return prompt
    told = f"If there is nothing to store, or once it is stored, reply with {SILENT} alone: the user sees none of this."
    return f"{prompt}\n\n{told}"


def _timed(prompt: str, time: str) -> str:
    """Return a prompt that tells the time, once."""
    return prompt if _TIME in prompt else f"{prompt}\n\n{_TIME} {time}"


def told_time(moment: datetime) -> str:
    """Return a moment for a reader: `2026-01-16 14:30 (Europe/Prague, UTC+01:00)`."""
    shift = f"{moment:%z}"
    offset = "UTC" if shift == "+0000" else f"UTC{shift[:3]}:{shift[3:5]}"
    zone = getattr(moment.tzinfo, "key", offset)
    return f"{moment:%Y-%m-%d %H:%M} ({offset if zone in (offset, 'UTC') else f'{zone}, {offset}'})"
