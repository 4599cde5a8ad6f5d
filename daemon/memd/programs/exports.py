"""Chat exports: archives that a person downloads, read in place like databases of conversations."""

from __future__ import annotations

import os
import re
import time
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from memd.programs.conversation import Conversation
from memd.programs.export_files import ExportFile, exports_at, open_export
from memd.programs.program import ConversationDatabase, FileFacts, StoredSession, file_facts
from memd.programs.records import decode_record
from memd.programs.values import MAX_ROWS
from memd.system.safe_open import stat_of
from memd.system.sqlite import ForeignDatabaseError
from memd_client.messages import Problem

Record: TypeAlias = Mapping[str, Any]

MAX_RECORD_BYTES: Final = 128 * 1_048_576
"""Most bytes of a conversation's JSON."""

GRAIN_NS: Final = 20_000_000
"""A file that was written so recently may be written again with the same time."""

_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.S)
"""The text up to the next bracket that isn't in a string."""

_record = msgspec.json.Decoder(dict[str, Any])


class Listed(NamedTuple):
    """The session that a record belongs to, empty for none, when it changed, and how many messages it has."""

    session_id: str = ""
    updated_ms: int = 0
    messages: int = 0


class _Place(NamedTuple):
    """Where a record is, and a checksum of it."""

    listed: Listed
    file: ExportFile
    start: int
    size: int
    crc: int


class ChatExport(ConversationDatabase):
    """The newest export at a path: an archive, one of its files, or a folder with archives or with such files.

    Attributes:
        title: The program's name.
        names: Matches the names of files with conversations.
        is_joined: Whether the records of a session are parts of it; otherwise the newest counts.
    """

    problem_code = "export_unreadable"
    reads_folders = True
    title: str
    names: re.Pattern[str] = re.compile(r"(?:.*/)?conversations(?:-\d{1,6})?\.json", re.S)
    is_joined = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._version: object = None
        self._files: dict[Path, FileFacts] = {}
        self._places: dict[str, list[_Place]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path}>"

    @abstractmethod
    def list_record(self, record: Record) -> Listed:
        """Return what the listing keeps of a record."""

    @abstractmethod
    def conversation(self, session_id: str, records: Sequence[Record]) -> Conversation:
        """Return the conversation in the records of a session."""

    def split(self, name: str, blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the records of a file, each with its position."""
        return split_array(blocks)

    def decode(self, data: bytes) -> Record | None:
        """Return a record, None if it is broken."""
        return decode_record(data, _record)

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; see `ConversationDatabase.sessions`."""
        with self._lock:
            self._refresh()
            return [self._session(name, places) for name, places in self._places.items()]

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation; see `ConversationDatabase.read`."""
        with self._lock:
            if not self._places:
                self._refresh()
            try:
                records = self._read(session_id)
            except ForeignDatabaseError as error:
                if not error.busy:
                    raise
                self._refresh()
                records = self._read(session_id)
        return self.conversation(session_id, records) if records else None

    def state(self, path: Path) -> Sequence[FileFacts]:
        """Return the facts of the export and of the files in it that were listed; see `ConversationDatabase.state`."""
        facts = file_facts(str(path))
        return (facts, *(file_facts(str(file)) for file in self._files)) if facts else ()

    def state_when_listed(self, before: Sequence[FileFacts]) -> Sequence[FileFacts]:
        """Return the state with the files that are known only now; see `ConversationDatabase.state_when_listed`."""
        return (*before[:1], *self._files.values())

    def close(self) -> None:
        """Forget the sessions; no file is kept open."""
        with self._lock:
            self._version, self._places = None, {}

    def _refresh(self) -> None:
        """List the conversations, unless the export is unchanged. A file that changes meanwhile counts as changed."""
        failed = ForeignDatabaseError(f"it is no export of {self.title}", unknown=True)
        self.hint = f"name the archive that you downloaded from {self.title}, or the folder of its files"
        self._files = {}
        for paths in exports_at(self._path, self.names):
            self._files |= {path: file_facts(str(path)) for path in paths if path != self._path}
            try:
                version = [(path, stat_of(os.lstat(path))) for path in paths]
                is_settled = time.time_ns() - max(facts[0] for _, facts in version) > GRAIN_NS
                if version == self._version or self._list(paths):
                    self._version = version if is_settled else None
                    return
            except ForeignDatabaseError as error:
                failed = error
            except OSError as error:
                failed = ForeignDatabaseError((error.strerror or "it is gone").lower(), busy=True)
        raise failed

    def _read(self, session_id: str) -> list[Record]:
        places = self._places.get(session_id, ())
        data = (place.file.read(place.start, place.size) for place in places)
        return [record for each in data if (record := self.decode(each))]

    def _list(self, paths: Sequence[Path]) -> bool:
        """List the conversations in the files of an export; return whether there are any."""
        files = [each for path in paths for each in open_export(path, self.names)]
        listed: dict[str, list[_Place]] = {}
        broken = 0
        for ending in (".json", ".html"):  # if there are both, JSON has the exact times
            for name, file in [] if listed else files:
                records = self.split(name, file.blocks()) if name.lower().endswith(ending) else ()
                for start, data in records:
                    record = self.decode(data)
                    broken += record is None
                    entry = self.list_record(record or {})
                    if entry.session_id and len(listed) < MAX_ROWS:
                        place = _Place(entry, file, start, len(data), zlib.crc32(data))
                        self._add(listed.setdefault(entry.session_id, []), place)
        if listed:
            self._places, self.problems = listed, []
        if listed and broken:
            message = f"{self._path}: {broken:,} conversations are damaged, and are skipped"
            self.problems = [
                Problem(self.problem_code, message, f"download the export of {self.title} again")
            ]
        return bool(listed)

    def _add(self, places: list[_Place], place: _Place) -> None:
        if not self.is_joined and places and places[0].listed.updated_ms <= place.listed.updated_ms:
            places.clear()
        if not places or (self.is_joined and all(each.crc != place.crc for each in places)):
            places.append(place)

    @staticmethod
    def _session(name: str, places: Sequence[_Place]) -> StoredSession:
        updated_ns = max(place.listed.updated_ms for place in places) * 1_000_000
        crc = zlib.crc32(repr(sorted(place.crc for place in places)).encode())
        stat = updated_ns, sum(place.size for place in places), crc, 0
        return StoredSession(name, stat, messages=sum(place.listed.messages for place in places))


def split_array(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the objects in a JSON array, each with its position; an unfinished one is empty."""
    data, base, position, depth, start = b"", 0, 0, 0, 0
    pending: list[bytes] = []
    for block in chain(blocks, (b"",)):
        pending.append(block)
        if block and sum(map(len, pending)) < len(data) - position:
            continue  # in a long string: before it is scanned again, read as much again
        kept = start if depth > 1 else position
        data, pending = b"".join((data[kept:], *pending)), []
        base, position, start = base + kept, position - kept, start - kept
        while bracket := _BRACKET.match(data, position):
            position = bracket.end()
            depth += 1 if bracket[1] in b"{[" else -1
            if depth == 2 and bracket[1] in b"{[":
                start = position - 1
            elif depth == 1 and bracket[1] in b"]}":
                yield base + start, data[start:position]
        if len(data) - (start if depth > 1 else position) > MAX_RECORD_BYTES:
            raise ForeignDatabaseError("a conversation in it is larger than 128 MB", unknown=True)
    if depth > 0:
        yield base, b""
