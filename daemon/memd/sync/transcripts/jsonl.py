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

from memd.sync.disk.discover import NO_DESCRIPTOR, Found, check_descriptors
from memd.sync.disk.read import READ_TRIES, FileText
from memd.sync.disk.safe_open import open_unlinked
from memd.sync.transcripts.kinds import SessionKinds
from memd.sync.transcripts.session_source import PREFIX, Transcripts, describe_size
from memd.sync.transcripts.talk import Recent, Talk
from memd.sync.transcripts.zstd import decompress
from memd_client.errors import FileMissingError, FileUnreadableError

_NAME = re.compile(r"(?P<session>[^.].*?)\.jsonl(?:\.(?:reset|deleted)\.\d[\dTZ:.+_-]*(?P<packed>\.zst)?)?")
_SIDECAR = re.compile(
    r".*\.(?:trajectory|checkpoint(?:\..*)?|bak(?:\..*)?|lock|tmp|jsonl(?:\..*)?)", re.IGNORECASE
)
"""What stands before `.jsonl` in files that OpenClaw keeps beside a transcript and that repeat what is in it."""

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
            if (
                (before.st_mtime_ns, before.st_size)
                == (after.st_mtime_ns, after.st_size)
                == (
                    after.st_mtime_ns,
                    len(data),
                )
            ):
                break
        else:
            raise _unreadable(
                found.path,
                "is being written to; it is read again with the next change",
                "moving",
                "Nothing to do: the next search or sync reads it.",
            )
        digest, talk = self._flatten(found.path, data)
        return FileText(
            talk.text,
            digest,
            after.st_mtime_ns,
            after.st_size,
            after.st_ino,
            after.st_ctime_ns,
            tuple(talk.numbers),
            talk.redactions,
            talk.resets,
        )

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
                    raise _unreadable(found.path, "is not a regular file", "kind")
                data = file.read(self._max_bytes + 1)
                if len(data) > self._max_bytes:
                    raise _unreadable(
                        found.path, f"is {describe_size(before.st_size, self._max_bytes)}", "too_big"
                    )
                return data, before, os.fstat(handle)
        except FileNotFoundError:
            raise FileMissingError(f"{found.path} is gone", data={"path": found.path}) from None
        except OSError as error:
            why = f"is a {_LINK}" if os.path.islink(found.location) else f"can't be read: {error.strerror}"
            reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
            raise _unreadable(found.path, why, reason) from None


def _records(data: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a part of a file with their numbers; one that is not UTF-8 is nobody's."""
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


def _unreadable(path: str, why: str, reason: str, hint: str | None = None) -> FileUnreadableError:
    """Return the error for a transcript that can't be read."""
    return FileUnreadableError(f"{path} {why}", hint=hint, data={"path": path, "reason": reason})
