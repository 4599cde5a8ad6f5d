"""Transcripts of the older releases of OpenClaw: one `.jsonl` file a session, and what was rotated away."""

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

from memd.sync.disk.discover import NO_DESCRIPTOR, Found, check_descriptors
from memd.sync.disk.read import READ_TRIES, FileText
from memd.sync.disk.safe_open import open_unlinked
from memd.sync.transcripts.cold import decompress, decompress_beginning
from memd.sync.transcripts.session_source import PREFIX, Transcripts, being_written, describe_size, unreadable
from memd.sync.transcripts.talk import Recent, Talk
from memd.text.transcripts.messages import kind_of_key, kind_of_opening
from memd_client.errors import FileMissingError

LIST_FILE = "sessions.json"

FIRST_BYTES = 16_384
OPENING_BYTES = 131_072
"""Of a file's beginning that are looked at for its first message, at first and at most."""

_LARGEST_LIST = 64 * 1_048_576


class _Entry(msgspec.Struct):
    """What OpenClaw lists of a session, as far as it matters here."""

    sessionId: object = None  # noqa: N815
    sessionFile: object = None  # noqa: N815
    spawnedBy: object = None  # noqa: N815
    heartbeatIsolatedBaseSessionKey: object = None  # noqa: N815


class _Listed(NamedTuple):
    """What OpenClaw's list says: the kind of each session and file, and the file of each session key."""

    kinds: dict[str, str | None]
    by_key: dict[str, str]


_decode_list = msgspec.json.Decoder(dict[str, msgspec.Raw])
_decode_entry = msgspec.json.Decoder(_Entry)


@dataclass(slots=True)
class _Opening:
    """What a file's beginning said: at which size, and whether more of it can't change that."""

    inode: int
    size: int
    kind: str | None
    settled: bool


class SessionKinds:
    """The kinds of the transcripts in one folder."""

    def __init__(self, folder: str) -> None:
        self._list_path = os.path.join(folder, LIST_FILE)
        self._list_identity: tuple[int, int, int, int] | None = None
        self._listed = _Listed({}, {})
        self._openings: dict[str, _Opening] = {}

    def refresh(self) -> None:
        """Read OpenClaw's list again where it changed. Without one, or with a broken one, nothing is listed."""
        try:
            facts = os.lstat(self._list_path)
            identity = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        except OSError:
            identity = None
        if identity != self._list_identity:
            self._listed = _read_list(self._list_path) if identity is not None else _Listed({}, {})
            self._list_identity = identity

    def by_key(self) -> dict[str, str]:
        """Return the file's name of each session key that OpenClaw lists."""
        return dict(self._listed.by_key)

    def find(self, session_id: str, name: str, location: str, facts: os.stat_result) -> str | None:
        """Return what kind of session it is that is no memory, or None for a conversation."""
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
        """Forget files that are gone."""
        if len(self._openings) > len(names):
            self._openings = {name: known for name, known in self._openings.items() if name in names}


def _read_list(path: str) -> _Listed:
    """Return what OpenClaw lists.

    One that is listed as a conversation is one, whatever else it is listed as.
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
    """Return what a file's beginning says."""
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
    # A long beginning without a word of the user's: a conversation may still follow.
    return _Opening(facts.st_ino, facts.st_size, None, True)


def _read(path: str, limit: int) -> bytes:
    """Return the beginning of a file that is no link; nothing of what is no file."""
    handle = open_unlinked(path)
    with os.fdopen(handle, "rb") as file:
        return file.read(limit) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


_NAME = re.compile(r"(?P<session>[^.].*?)\.jsonl(?:\.(?:reset|deleted)\.\d[\dTZ:.+_-]*(?P<packed>\.zst)?)?")
_SIDECAR = re.compile(
    r".*\.(?:trajectory|checkpoint(?:\..*)?|bak(?:\..*)?|lock|tmp|jsonl(?:\..*)?)", re.IGNORECASE
)
"""The part before `.jsonl` in the names of files that repeat what is in a transcript."""

_PACKED = ".zst"

_TAIL_BYTES = 65_536
"""Of a file's end that are looked at for the time of its last record."""

_LINK = "symbolic link; links are not followed"


@dataclass(slots=True)
class _Reading:
    """How far a file has been read: up to the end of its last whole line.

    Attributes:
        end: Bytes so far.
        digest: Their SHA-256.
        lines: How many lines they are.
        talk: The talk in them.
    """

    end: int
    digest: bytes
    lines: int
    talk: Talk


@lru_cache(maxsize=20_000)
def find_session_id(name: str) -> str | None:
    """Return the session a file is the transcript of, or None for any other file."""
    match = _NAME.fullmatch(name)
    return None if match is None or _SIDECAR.fullmatch(match["session"]) else match["session"]


class JsonlSessions:
    """One agent's transcripts in its folder `sessions`."""

    def __init__(self, folder: Path, max_file_bytes: int) -> None:
        self._folder = str(folder)
        self._max_bytes = max_file_bytes
        self._lock = Lock()
        self._kinds = SessionKinds(self._folder)
        self._written: dict[str, tuple[Found, int]] = {}
        self._recent: Recent[_Reading] = Recent()

    def __repr__(self) -> str:
        return f"<JsonlSessions {self._recent!r}>"

    def find(self) -> Transcripts:
        """Return the transcripts there are now; see `SessionSource.find`."""
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

    def load(self, found: Found) -> FileText:
        """Return a transcript's talk; see `SessionSource.load`."""
        for _ in range(READ_TRIES):
            data, before, after = self._read(found)
            if before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size == len(data):
                break
        else:
            raise being_written(found.path)
        digest, talk = self._flatten(found.path, data)
        return talk.file_text(digest, after.st_mtime_ns, after.st_size, after.st_ino, after.st_ctime_ns)

    def last_written_ms(self, found: Found) -> int:
        """Return when the last record of a file was written, as it says itself, else when the file was.

        A copied or restored file is younger than what is in it.
        """
        with self._lock:
            known = self._written.get(found.path)
            if known is None or known[0] != found:
                if len(self._written) > 10_000:
                    self._written.clear()
                known = self._written[found.path] = (found, _last_record_ms(found))
        return known[1]

    def close(self) -> None:
        """Let go of what was kept."""
        self._recent.clear()

    def _take(self, transcripts: Transcripts, entry: os.DirEntry[str], session_id: str) -> None:
        """Add a transcript, or the reason it is left out."""
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
            transcripts.found[path] = Found(
                path,
                entry.path,
                facts.st_mtime_ns,
                facts.st_size,
                facts.st_ino,
                facts.st_ctime_ns,
                "sessions",
            )

    def _flatten(self, path: str, data: bytes) -> tuple[str, Talk]:
        """Return the hash of a file and the talk in it, going on from what was read of it before."""
        if path.endswith(_PACKED):
            records = _records(decompress(data, self._max_bytes, path), 1)
            return hashlib.sha256(data).hexdigest(), Talk().with_records(records)
        reading = self._recent.take(path)
        sha = hashlib.sha256()
        if reading is not None and reading.end <= len(data):
            sha.update(memoryview(data)[: reading.end])
        if reading is None or sha.digest() != reading.digest:
            reading, sha = _Reading(0, b"", 0, Talk()), hashlib.sha256()
        end = data.rfind(b"\n") + 1
        added = data[reading.end : end]
        sha.update(added)
        talk = reading.talk.with_records(_records(added, reading.lines + 1)) if added else reading.talk
        whole = _Reading(end, sha.digest(), reading.lines + added.count(b"\n"), talk)
        self._recent.keep(path, whole)
        rest = data[end:]  # the last line may not be written to its end yet: then it is no JSON
        sha.update(rest)
        return sha.hexdigest(), talk.with_records(_records(rest, whole.lines + 1)) if rest else talk

    def _read(self, found: Found) -> tuple[bytes, os.stat_result, os.stat_result]:
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
            raise FileMissingError(f"{found.path} is gone", data={"path": found.path}) from None
        except OSError as error:
            why = f"is a {_LINK}" if os.path.islink(found.location) else f"can't be read: {error.strerror}"
            reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
            raise unreadable(found.path, why, reason) from None


def _records(data: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a part of a file with their numbers; one that is not UTF-8 is left out."""
    for number, line in enumerate(data.split(b"\n"), start=first):
        try:
            record = line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if record:
            yield number, record


def _last_record_ms(found: Found) -> int:
    """Return when the last record with a time was written, else when the file was."""
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
    """Return a record's time in epoch milliseconds, or None where it has none."""
    value = record.get("timestamp") if isinstance(record, dict) else None
    if isinstance(value, str):
        try:
            return int(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    return int(value) if isinstance(value, (int, float)) and 0 < value < 1e14 else None
