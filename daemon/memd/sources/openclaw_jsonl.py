"""Transcripts of older OpenClaw releases: one `.jsonl` file per session, including rotated ones."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from memd.programs.packed import decompress, decompress_beginning
from memd.programs.unreadable import being_written, describe_size, unreadable
from memd.sources.discover import NO_DESCRIPTOR, SourceFile, check_descriptors
from memd.sources.openclaw_text import TranscriptText
from memd.sources.read import READ_TRIES, FileText
from memd.sources.source import PREFIX, Transcripts
from memd.sources.state_cache import StateCache
from memd.system.safe_open import FileStat, open_unlinked, stat_of
from memd.text.transcripts.messages import kind_of_key, kind_of_opening
from memd_client.errors import FileMissingError

LIST_FILE = "sessions.json"

FIRST_BYTES = 16_384
OPENING_BYTES = 131_072
"""Bytes at a file's beginning that are searched for its first message: at first, and at most."""

_LARGEST_LIST = 64 * 1_048_576


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


@dataclass(slots=True)
class _Opening:
    """The kind of session according to a file's beginning, and whether further lines can't change it."""

    inode: int
    size: int
    kind: str | None
    settled: bool


class SessionKinds:
    """Determines the kinds of the transcripts in one folder."""

    def __init__(self, folder: str) -> None:
        self._list_path = os.path.join(folder, LIST_FILE)
        self._list_identity: FileStat | None = None
        self._listed = _Listed({}, {})
        self._openings: dict[str, _Opening] = {}

    def refresh(self) -> None:
        """Read OpenClaw's list again if it changed. A missing or invalid list is treated as empty."""
        try:
            identity = stat_of(os.lstat(self._list_path))
        except OSError:
            identity = None
        if identity != self._list_identity:
            self._listed = _read_list(self._list_path) if identity is not None else _Listed({}, {})
            self._list_identity = identity

    def by_key(self) -> dict[str, str]:
        """Return the file name of each session key in OpenClaw's list."""
        return dict(self._listed.by_key)

    def find(self, session_id: str, name: str, location: str, facts: os.stat_result) -> str | None:
        """Return the kind of a session that isn't memory, such as `cron`; None for a conversation."""
        for listed in (session_id, name):
            if listed in self._listed.kinds:
                return self._listed.kinds[listed]
        opening = self._openings.get(name)
        if opening is None or opening.inode != facts.st_ino or facts.st_size < opening.size:
            opening = None
        if opening is None or not (opening.settled or opening.size == facts.st_size):
            opening = self._openings[name] = _read_opening(location, facts)
        return opening.kind

    def forget_all_but(self, names: set[str]) -> None:
        """Forget deleted files."""
        if len(self._openings) > len(names):
            self._openings = {name: known for name, known in self._openings.items() if name in names}


def _read_list(path: str) -> _Listed:
    """Return OpenClaw's list.

    A session listed several times counts as a conversation if any entry is one.
    """
    try:
        entries = _decode_list.decode(_read(path, _LARGEST_LIST))
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


def _read_opening(location: str, facts: os.stat_result) -> _Opening:
    """Determine the kind of a session from its file's beginning."""
    kind, settled = None, False
    for limit in (FIRST_BYTES, OPENING_BYTES):
        try:
            data = _read(location, limit)
        except OSError:
            break
        whole = facts.st_size <= limit
        if location.endswith(".zst"):
            data = decompress_beginning(data, limit)
            whole = whole and len(data) < limit
        lines = data.split(b"\n")
        if not whole:
            del lines[-1]
        kind, settled = kind_of_opening(line.decode("utf-8", "replace") for line in lines)
        if settled or whole:
            return _Opening(facts.st_ino, facts.st_size, kind, settled)
    # A long beginning without a user's message: a conversation may still follow.
    return _Opening(facts.st_ino, facts.st_size, None, True)


def _read(path: str, limit: int) -> bytes:
    """Return the beginning of a file, without following links; empty if it is not a regular file."""
    handle = open_unlinked(path)
    with os.fdopen(handle, "rb") as file:
        return file.read(limit) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


_NAME = re.compile(r"(?P<session>[^.].*?)\.jsonl(?:\.(?:reset|deleted)\.\d[\dTZ:.+_-]*(?P<packed>\.zst)?)?")
_SIDECAR = re.compile(
    r".*\.(?:trajectory|checkpoint(?:\..*)?|bak(?:\..*)?|lock|tmp|jsonl(?:\..*)?)", re.IGNORECASE
)
"""The part before `.jsonl` in the names of files that duplicate a transcript."""

_PACKED = ".zst"

_TAIL_BYTES = 65_536
"""Bytes at a file's end that are searched for the time of its last record."""

_LINK = "symbolic link; links are not followed"


@dataclass(slots=True)
class _FileProgress:
    """The part of a file that was read, up to the end of its last complete line.

    Attributes:
        end: Number of bytes.
        digest: Their SHA-256.
        lines: Number of lines.
        talk: The transcript's text in them.
    """

    end: int
    digest: bytes
    lines: int
    talk: TranscriptText


@lru_cache(maxsize=20_000)
def find_session_id(name: str) -> str | None:
    """Return the session id of a transcript's file, or None for any other file."""
    match = _NAME.fullmatch(name)
    return None if match is None or _SIDECAR.fullmatch(match["session"]) else match["session"]


class JsonlSessions:
    """One agent's transcripts in its folder `sessions`."""

    def __init__(self, folder: Path, max_file_bytes: int) -> None:
        self._folder = str(folder)
        self._max_bytes = max_file_bytes
        self._lock = Lock()
        self._kinds = SessionKinds(self._folder)
        self._written: dict[str, tuple[SourceFile, int]] = {}
        self._recent: StateCache[_FileProgress] = StateCache()

    def __repr__(self) -> str:
        return f"<JsonlSessions {self._recent!r}>"

    def find(self) -> Transcripts:
        """Return the current transcripts; see `SessionSource.find`."""
        transcripts = Transcripts()
        names: set[str] = set()
        with self._lock:
            if os.path.islink(self._folder):
                transcripts.skip("sessions", _LINK)
                return transcripts
            self._kinds.refresh()
            try:
                with os.scandir(self._folder) as entries:
                    for entry in entries:
                        session_id = find_session_id(entry.name)
                        if session_id is not None:
                            names.add(entry.name)
                            self._take(transcripts, entry, session_id)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                check_descriptors(error)
                transcripts.skip("sessions", f"folder can't be listed: {error.strerror}")
            self._kinds.forget_all_but(names)
            listed = self._kinds.by_key().items()
        transcripts.by_key = {
            key: PREFIX + name for key, name in listed if PREFIX + name in transcripts.found
        }
        transcripts.eras["jsonl"] = len(transcripts.found)
        return transcripts

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text; see `SessionSource.load`."""
        for _ in range(READ_TRIES):
            data, before, after = self._read(found)
            if before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size == len(data):
                break
        else:
            raise being_written(found.path)
        digest, talk = self._flatten(found.path, data)
        return talk.file_text(digest, stat_of(after))

    def last_written_ms(self, found: SourceFile) -> int:
        """Return the time of a file's last record, or the file's mtime if its records have none.

        The mtime alone is not enough, because a copied or restored file is newer than its records.
        """
        with self._lock:
            known = self._written.get(found.path)
            if known is None or known[0] != found:
                if len(self._written) > 10_000:
                    self._written.clear()
                known = self._written[found.path] = (found, _last_record_ms(found))
        return known[1]

    def close(self) -> None:
        """Release the cached states."""
        self._recent.clear()

    def _take(self, transcripts: Transcripts, entry: os.DirEntry[str], session_id: str) -> None:
        """Add a transcript, or the reason for skipping it."""
        path = PREFIX + entry.name
        try:
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            transcripts.skip(path, f"can't be read: {error.strerror}")
            return
        if not stat.S_ISREG(facts.st_mode):
            transcripts.skip(path, _LINK if stat.S_ISLNK(facts.st_mode) else "not a regular file")
        elif not entry.name.isascii() and path.encode("utf-8", "replace").decode() != path:
            transcripts.skip(path, "its name is not UTF-8; rename it")
        elif (kind := self._kinds.find(session_id, entry.name, entry.path, facts)) is not None:
            transcripts.leave_out(session_id, kind)
        elif facts.st_size > self._max_bytes:
            transcripts.skip(path, describe_size(facts.st_size, self._max_bytes))
        else:
            transcripts.found[path] = SourceFile(path, entry.path, *stat_of(facts), "sessions", is_talk=True)

    def _flatten(self, path: str, data: bytes) -> tuple[str, TranscriptText]:
        """Return the hash of a file and its text, continuing from the part that was read before."""
        if path.endswith(_PACKED):
            records = _records(decompress(data, self._max_bytes, path), 1)
            return hashlib.sha256(data).hexdigest(), TranscriptText().with_records(records)
        known = self._recent.take(path)
        sha = hashlib.sha256()
        if known is not None and known.end <= len(data):
            sha.update(memoryview(data)[: known.end])
        if known is None or sha.digest() != known.digest:
            known, sha = _FileProgress(0, b"", 0, TranscriptText()), hashlib.sha256()
        end = data.rfind(b"\n") + 1
        added = data[known.end : end]
        sha.update(added)
        talk = known.talk.with_records(_records(added, known.lines + 1)) if added else known.talk
        whole = _FileProgress(end, sha.digest(), known.lines + added.count(b"\n"), talk)
        self._recent.keep(path, whole)
        rest = data[end:]  # the last line may be incomplete, and is not JSON then
        sha.update(rest)
        return sha.hexdigest(), talk.with_records(_records(rest, whole.lines + 1)) if rest else talk

    def _read(self, found: SourceFile) -> tuple[bytes, os.stat_result, os.stat_result]:
        """Return a file's bytes and its stat before and after the read."""
        try:
            handle = open_unlinked(found.location)
            with os.fdopen(handle, "rb") as file:
                before = os.fstat(handle)
                if not stat.S_ISREG(before.st_mode):
                    raise unreadable(found.path, "is not a regular file", "kind")
                data = file.read(self._max_bytes + 1)
                if len(data) > self._max_bytes:
                    raise unreadable(
                        found.path, f"is {describe_size(before.st_size, self._max_bytes)}", "too_big"
                    )
                return data, before, os.fstat(handle)
        except FileNotFoundError:
            raise FileMissingError(f"{found.path} no longer exists", data={"path": found.path}) from None
        except OSError as error:
            cause = f"is a {_LINK}" if os.path.islink(found.location) else f"can't be read: {error.strerror}"
            reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
            raise unreadable(found.path, cause, reason) from None


def _records(data: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of a part of a file; lines that are empty or not UTF-8 are left out."""
    for number, line in enumerate(data.split(b"\n"), start=first):
        try:
            record = line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if record:
            yield number, record


def _last_record_ms(found: SourceFile) -> int:
    """Return the time of the last record that has one, else the file's mtime."""
    try:
        handle = open_unlinked(found.location)
        with os.fdopen(handle, "rb"):
            tail = os.pread(handle, _TAIL_BYTES, max(0, found.size - _TAIL_BYTES))
    except OSError:
        tail = b""
    for line in reversed(tail.split(b"\n")):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        moment = _moment_of(record)
        if moment is not None:
            return moment
    return found.mtime_ns // 1_000_000


def _moment_of(record: object) -> int | None:
    """Return a record's time in epoch milliseconds, or None if it has none."""
    value = record.get("timestamp") if isinstance(record, dict) else None
    if isinstance(value, str):
        try:
            return int(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    return int(value) if isinstance(value, (int, float)) and 0 < value < 1e14 else None
