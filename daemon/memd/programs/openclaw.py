"""Conversations of OpenClaw's releases before 2026.8: one `.jsonl` file per session, including rotated files."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memd.programs.conversation import Break, Conversation, Message, Role, Session
from memd.programs.packed import decompress_beginning
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.tool_calls import read_openclaw, reason_outside
from memd.programs.work import WorkLog, WorkReader
from memd.system.safe_open import FileStat, open_unlinked, stat_of
from memd.text.transcripts.messages import kind_of_key, kind_of_opening, read_record

LIST_FILE = "sessions.json"

FIRST_BYTES = 16_384
OPENING_BYTES = 131_072
"""Bytes at a file's beginning that are searched for its first message: at first, and at most."""

LARGEST_LIST = 64 * 1_048_576

TAIL_BYTES = 65_536
"""Bytes at a file's end that are searched for the time of its last record."""

_NAME = re.compile(r"(?P<session>[^.].*?)\.jsonl(?:\.(?:reset|deleted)\.\d[\dTZ:.+_-]*(?P<packed>\.zst)?)?")
_SIDECAR = re.compile(
    r".*\.(?:trajectory|checkpoint(?:\..*)?|bak(?:\..*)?|lock|tmp|jsonl(?:\..*)?)", re.IGNORECASE
)
"""The part before `.jsonl` in the names of files that duplicate a transcript."""


@lru_cache(maxsize=20_000)
def find_session_id(name: str) -> str | None:
    """Return the session id of a transcript's file, or None for any other file."""
    match = _NAME.fullmatch(name)
    return None if match is None or _SIDECAR.fullmatch(match["session"]) else match["session"]


class OpenClawReader(WorkReader):
    """Reads the records of a session, from a file or from the database (a `TranscriptReader`)."""

    def __init__(self, session_id: str, work: WorkLog | None = None) -> None:
        self.work = work
        self._conversation = Conversation(Session(session_id))
        self._messages_before: dict[str, int] = {}

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; one that isn't UTF-8 is skipped."""
        try:
            self.read_record(line.decode("utf-8"), place)
        except UnicodeDecodeError:
            return

    def read_record(self, record: str, place: int) -> None:
        """Read the next record."""
        if self.work is not None:
            read_openclaw(self.work, record, place)
        line, record_id, is_reset, first_kept, at_ms = read_record(record)
        messages = self._conversation.messages
        count = len(messages)
        if is_reset:
            first = self._messages_before.get(first_kept, count)
            self._conversation.breaks.append(Break(count, first, at_ms))
            self._messages_before = {key: at for key, at in self._messages_before.items() if at >= first}
        elif record_id:
            self._messages_before[record_id] = count
        if line is not None:
            speaker, _, text = line.partition(": ")
            role: Role = "user" if speaker == "User" else "assistant"
            messages.append(Message(role, text, place, outside=reason_outside(record)))

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        return self._conversation


class OpenClawFiles(FileReader):
    """OpenClaw's folder `sessions` of an agent. Each file is a conversation of its own, also a rotated one."""

    keeps_facts = False

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript of a file, by its name."""
        session_id = find_session_id(path)
        return None if session_id is None or "/" in path else TranscriptFile(path, part_of=session_id)

    def is_walked(self, path: str) -> bool:
        """Return False: transcripts are in the folder itself."""
        return False

    def open(self, file: TranscriptFile) -> OpenClawReader:
        """Return a reader."""
        return OpenClawReader(file.part_of)

    def kinds_in(self, folder: str) -> OpenClawKinds:
        """Return the kinds according to OpenClaw's list, and to the beginnings of files."""
        return OpenClawKinds(folder)

    def name_of(self, session_id: str) -> str:
        """Return the name of the file."""
        return session_id


class _Entry(msgspec.Struct):
    """The relevant fields of a session in OpenClaw's list."""

    sessionId: object = None  # noqa: N815
    sessionFile: object = None  # noqa: N815
    spawnedBy: object = None  # noqa: N815
    heartbeatIsolatedBaseSessionKey: object = None  # noqa: N815


class _Listed(NamedTuple):
    """OpenClaw's list: the kind of each session and file, and the file of each session key."""

    kinds: dict[str, str | None]
    by_key: dict[str, str]


_decode_list = msgspec.json.Decoder(dict[str, msgspec.Raw])
_decode_entry = msgspec.json.Decoder(_Entry)


class _Opening(Struct):
    """The kind of session according to a file's beginning, and whether further lines can't change it."""

    inode: int
    size: int
    kind: str | None
    is_final: bool


class OpenClawKinds:
    """The kinds of the transcripts in one folder (`SessionKinds`)."""

    def __init__(self, folder: str) -> None:
        self._list_path = os.path.join(folder, LIST_FILE)
        self._list_stat: FileStat | None = None
        self._listed = _Listed({}, {})
        self._openings: dict[str, _Opening] = {}

    def refresh(self) -> None:
        """Read OpenClaw's list again if it changed. A missing or invalid list is treated as empty."""
        try:
            found = stat_of(os.lstat(self._list_path))
        except OSError:
            found = None
        if found != self._list_stat:
            self._listed = _read_list(self._list_path) if found is not None else _Listed({}, {})
            self._list_stat = found

    def by_key(self) -> Mapping[str, str]:
        """Return the file name of each session key in OpenClaw's list."""
        return self._listed.by_key

    def kind_of(self, file: TranscriptFile, location: str, stat: FileStat) -> str:
        """Return the kind of a session, such as `cron`; see `SessionKinds`."""
        for name in (file.part_of, file.session_id):
            if name in self._listed.kinds:
                return self._listed.kinds[name] or "main"
        _, size, inode, _ = stat
        opening = self._openings.get(file.session_id)
        if opening is None or opening.inode != inode or size < opening.size:
            opening = None
        if opening is None or not (opening.is_final or opening.size == size):
            opening = self._openings[file.session_id] = _read_opening(location, size, inode)
        return opening.kind or "main"


def _read_list(path: str) -> _Listed:
    """Return OpenClaw's list.

    A session listed several times counts as a conversation if any entry is one.
    """
    try:
        entries = _decode_list.decode(_read(path, LARGEST_LIST))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Listed({}, {})
    kinds: dict[str, str | None] = {}
    by_key: dict[str, str] = {}
    for key, raw in entries.items():
        try:
            entry = _decode_entry.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        kind = kind_of_key(key)
        if kind is None and entry.heartbeatIsolatedBaseSessionKey:
            kind = "heartbeat"
        if kind is None and entry.spawnedBy:
            kind = "subagent"
        for named in (entry.sessionId, entry.sessionFile):
            if isinstance(named, str) and named:
                name = named.replace("\\", "/").rpartition("/")[2]
                kinds[name] = kinds.get(name, kind) and kind
                by_key[key] = name if name.endswith(".jsonl") else f"{name}.jsonl"
    return _Listed(kinds, by_key)


def _read_opening(location: str, size: int, inode: int) -> _Opening:
    """Determine the kind of a session from its file's beginning."""
    for limit in (FIRST_BYTES, OPENING_BYTES):
        try:
            data = _read(location, limit)
        except OSError:
            break
        is_whole = size <= limit
        if location.endswith(".zst"):
            data = decompress_beginning(data, limit)
            is_whole = is_whole and len(data) < limit
        lines = data.split(b"\n")
        if not is_whole:
            del lines[-1]
        kind, is_final = kind_of_opening(line.decode("utf-8", "replace") for line in lines)
        if is_final or is_whole:
            return _Opening(inode, size, kind, is_final)
    # A long beginning without a user's message: a conversation may still follow.
    return _Opening(inode, size, None, True)


def _read(path: str, limit: int, start: int = 0) -> bytes:
    """Return a part of a file, without following links; empty if it is not a regular file."""
    handle = open_unlinked(path)
    with os.fdopen(handle, "rb"):
        return os.pread(handle, limit, start) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def last_record_ms(location: str, size: int) -> int | None:
    """Return the time of a file's last record that has one, in epoch milliseconds, or None (blocking).

    A file's own time is not enough, because a copied or restored file is newer than its records.
    """
    try:
        tail = _read(location, TAIL_BYTES, max(0, size - TAIL_BYTES))
    except OSError:
        return None
    for line in reversed(tail.split(b"\n")):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if (moment := _moment_of(record)) is not None:
            return moment
    return None


def _moment_of(record: object) -> int | None:
    """Return a record's time in epoch milliseconds, or None if it has none."""
    value = record.get("timestamp") if isinstance(record, dict) else None
    if isinstance(value, str):
        try:
            return int(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    return int(value) if isinstance(value, (int, float)) and 0 < value < 1e14 else None


READER = OpenClawFiles()
