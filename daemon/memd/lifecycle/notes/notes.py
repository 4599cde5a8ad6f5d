"""Writing of notes: the note of an ended session, and entries of a daily note.

Only `memory/YYYY-MM-DD.md`, `memory/YYYY-MM-DD-<slug>.md` and the latter in `memory/sessions/` are written, never notes
that the agent curates (`MEMORY.md`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

import trio

from memd.agents.agent import Agent
from memd.lifecycle.files import writing
from memd.lifecycle.files.writing import append_part, find_parts
from memd.lifecycle.notes.daily import (
    DailyEntry,
    around,
    clean_entry,
    entry_for,
    known_entry,
    local_time,
    note_path,
)
from memd.lifecycle.notes.session_note import (
    ConversationMessage,
    EndedSession,
    body_of,
    label_of,
    name_in_folder,
    note_text,
    read_ended,
    transcripts_of,
)
from memd.lifecycle.notes.slug import (
    Complete,
    SlugModel,
    clean_slug,
    numbered,
    slug_of_conversation,
    slug_of_time,
)
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.sources.capacity import SourceLimits, find_capacity
from memd.sources.openclaw import OpenClawConversations
from memd.sources.rules import PRIVATE_FOLDER
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.text.transcripts.messages import kind_of_key
from memd_client.errors import FileUnreadableError, MemdError, MemoryDisabledError, NoteUnwritableError
from memd_client.notes import AppendNoteParams, AppendNoteReply, SessionEndedParams, SessionEndedReply

MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024
"""Limit of a transcript for a note: one in OpenClaw's database is read completely for its last messages."""

MAX_NAMES = 200
"""Limit of notes with the same slug on one day."""


class Notes:
    """The notes of one agent."""

    def __init__(self, agent: Agent, clock: Clock, *, state_dir: Path, complete: Complete | None) -> None:
        self._agent = agent
        self._clock = clock
        self._folder = state_dir / "agents" / agent.agent_id / OPENCLAW_SOURCE
        self._sessions = OpenClawConversations(state_dir, agent.agent_id, MAX_TRANSCRIPT_BYTES)
        self._model = None if complete is None else SlugModel(complete, agent.agent_id)

    def __repr__(self) -> str:
        return f"<Notes {self._agent.agent_id}>"

    async def session_ended(self, params: SessionEndedParams) -> SessionEndedReply:
        """Write the end of an ended session's conversation to a note of the day on which it ended.

        Cancellation: a started write completes.
        """
        self._require_enabled()
        settings = self._agent.config.life.session_note
        if not settings.enabled:
            return self._no_note("off")
        if kind_of_key(params.session_key) is not None:
            return self._no_note("no_transcript")  # scheduled jobs, subagents and heartbeats get no note
        ended = await trio.to_thread.run_sync(lambda: self._find_ended(params, settings.messages))
        if ended is None:
            return self._no_note("no_transcript")
        if not ended.messages:
            return self._no_note("nothing_said")
        moment = self._now() if params.ended_ms is None else self._local(params.ended_ms)
        slug, slug_from = await self._slug_for(params.slug, ended.messages, moment)
        text, count = note_text(
            moment,
            self._agent.config.life.time_zone,
            session_key=params.session_key,
            session_id=ended.session_id,
            channel=params.channel,
            messages=ended.messages,
        )
        text = self._agent.forgotten().mask(text)
        workspace, limits, folder = self._agent.config.workspace, self._agent.limits, "memory"
        if params.private:
            text, folder = label_of(params.session_key) + text, PRIVATE_FOLDER
        path, slug, is_new = await trio.to_thread.run_sync(
            lambda: _create(workspace, folder, moment.date(), slug, text, limits)
        )
        if is_new:
            log.info("lifecycle.session_noted", agent=self._agent.agent_id, path=path, messages=count)
            EVENTS.publish("note", self._agent.agent_id, state="session", path=path)
            self._bring_in()
        reason = "written" if is_new else "known"
        return SessionEndedReply(self._agent.agent_id, path, count, slug, slug_from, reason)

    async def append_note(self, params: AppendNoteParams, day: date | None = None) -> AppendNoteReply:
        """Append an entry to a daily note.

        Cancellation: a started write completes.
        """
        self._require_enabled()
        today = self._now().date()
        days = around(today) if day is None else [day]
        work = partial(
            self._append_entry, clean_entry(self._agent.forgotten().mask(params.text)), params.key, days
        )
        path, entry, moved = await trio.to_thread.run_sync(work)
        if entry.added:
            EVENTS.publish("note", self._agent.agent_id, state="entry", path=path)
            self._bring_in()
        return AppendNoteReply(
            self._agent.agent_id, path, entry.start_line + moved, entry.end_line + moved, bool(entry.added)
        )

    def _append_entry(self, text: str, key: str | None, days: Sequence[date]) -> tuple[str, DailyEntry, int]:
        """Append an entry to the first day's note, unless a note of one of the days has its key (blocking)."""
        root, limits = self._agent.config.workspace, self._agent.limits
        first, place = note_path(days[0]), ("", DailyEntry("", 0, 0))

        def make(path: str, held: str) -> str:
            nonlocal place
            known = None if key is None else known_entry(held, text, key)
            place = path, known or entry_for(held, days[0], text, key)
            if key is None or known is not None:
                return place[1].added
            # Inside the lock, so that the second of two requests with one key finds the first one's entry.
            for other in find_parts(root, [note_path(day) for day in days]):
                noted = "" if other == path else _text_of(root, other, limits.file_bytes)
                if (known := known_entry(noted, text, key)) is not None:
                    place = other, known
                    return ""
            return place[1].added

        written = append_part(root, first, make, limits)
        return *place, written.moved

    def _find_ended(self, params: SessionEndedParams, most: int) -> EndedSession | None:
        name = None if not params.transcript else name_in_folder(self._folder, params.transcript)
        try:
            wanted = transcripts_of(self._sessions.find().files, name, params.session_id)
            goes_on = params.next_session_id is not None and params.next_session_id == params.session_id
            return read_ended(wanted, self._sessions.load, most, goes_on=goes_on, ended_ms=params.ended_ms)
        finally:
            self._sessions.close()  # sessions end rarely; it reopens when needed

    async def _slug_for(
        self, given: str | None, messages: tuple[ConversationMessage, ...], moment: datetime
    ) -> tuple[str, str]:
        """Return a note's slug and its origin."""
        if slug := clean_slug(given or ""):
            return slug, "caller"
        wanted = self._model is not None and self._agent.config.life.session_note.slug_model
        if self._model is not None and wanted and (slug := await self._model.ask(messages)):
            return slug, "model"
        if slug := await trio.to_thread.run_sync(lambda: slug_of_conversation(messages)):
            return slug, "words"
        return slug_of_time(moment), "time"

    def _no_note(self, reason: str) -> SessionEndedReply:
        return SessionEndedReply(self._agent.agent_id, "", 0, "", "", reason)

    def _now(self) -> datetime:
        return self._local(self._clock())

    def _local(self, moment_ms: int) -> datetime:
        return local_time(moment_ms, self._agent.config.life.time_zone)

    def _bring_in(self) -> None:
        """Request a sync that embeds the new text; keyword search finds it at once in any case."""
        with contextlib.suppress(MemdError):
            self._agent.compaction_done()

    def _require_enabled(self) -> None:
        if not self._agent.config.settings.enabled:
            raise MemoryDisabledError(f"memory search is off for agent {self._agent.agent_id}")


def _create(
    root: Path, folder: str, day: date, slug: str, text: str, limits: SourceLimits
) -> tuple[str, str, bool]:
    """Write a note under the first free name, unless the same note exists."""
    for number in range(1, MAX_NAMES + 1):
        name = numbered(slug, number)
        path = note_path(day, name, folder)
        is_known = _holds(root, path, text)
        if not is_known:
            find_capacity(root, limits).require(path, len(text.encode()), is_new=True)
            if writing.create(root, path, text):
                return path, name, True
        if is_known or _holds(root, path, text):
            return path, name, False
    raise NoteUnwritableError(f"there are {MAX_NAMES} notes of {day.isoformat()} named {slug}")


def _holds(root: Path, path: str, text: str) -> bool:
    """Return whether a file is the same note, written at another time."""
    try:
        held = writing.read(root, path, 4 * len(text.encode()))
    except FileUnreadableError:
        return False  # it is no note of a session
    return held is not None and body_of(held) == body_of(text)


def _text_of(root: Path, path: str, most_bytes: int) -> str:
    """Return the indexed text of a note; "" if it can't be read."""
    with contextlib.suppress(MemdError):
        return writing.read(root, path, most_bytes, cut=True) or ""
    return ""
