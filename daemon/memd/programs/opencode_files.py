"""Conversations of opencode before its database, and of MiMo Code: a folder of JSON files.

`session/<project>/<session>.json`, `message/<session>/<message>.json` and `part/<message>/<part>.json`; ids ascend.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.conversation import Conversation
from memd.programs.opencode import OpencodeDatabase, read_conversation
from memd.programs.opencode_rows import OpencodeConversation, OpencodeMessage, OpencodePart
from memd.programs.program import ConversationDatabase, FileFacts, StoredSession, file_facts
from memd.programs.records import decode_record
from memd.programs.small_files import paths_in, read_small_file
from memd.programs.values import text_of, time_of

_NEWEST: Final = 8
"""Sessions whose last message is compared too: only the newest answers are still written to."""


class _Time(msgspec.Struct):
    created: object = None
    updated: object = None


class _File(msgspec.Struct):
    """A session or a message."""

    parentID: object = None  # noqa: N815 - opencode's name
    title: object = None
    directory: object = None
    version: object = None
    time: _Time = msgspec.field(default_factory=_Time)
    revert: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


_file = msgspec.json.Decoder(_File)


class OpencodeFiles(ConversationDatabase):
    """The folder `storage`. A session's version is the state of its file, of its messages' folder, and of the last."""

    reads_folders = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def state(self, path: Path) -> Sequence[FileFacts]:
        """Return the facts of the folder and of its sessions."""
        folder = file_facts(str(path))
        return (folder, *(facts for _, every in self._listed() for facts in every)) if folder else ()

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; see `ConversationDatabase.sessions`."""
        sessions = []
        for path, facts in self._listed():
            session = decode_record(read_small_file(path), _file) or _File()
            name = Path(path).stem
            updated_ms = max(part[2] for part in facts if part) // 1_000_000
            stat = (updated_ms * 1_000_000, facts[0][1], zlib.crc32(repr(facts).encode()), updated_ms)
            kind = "subagent" if text_of(session.parentID) else "main"
            sessions.append(StoredSession(name, stat, kind, len(self._files("message", name))))
        return sessions

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation; see `ConversationDatabase.read`."""
        path = next((path for path in self._session_files() if Path(path).stem == session_id), "")
        session = decode_record(read_small_file(path), _file)
        if session is None:
            return None
        stored = OpencodeConversation(
            session_id,
            is_v2=False,
            parent=text_of(session.parentID),
            title=text_of(session.title),
            directory=text_of(session.directory),
            created_ms=time_of(session.time.created),
            updated_ms=time_of(session.time.updated),
            revert=bytes(session.revert),
            release=text_of(session.version),
            messages=self._messages(session_id),
        )
        return read_conversation(stored)

    def _messages(self, session_id: str) -> Iterator[OpencodeMessage]:
        for path in self._files("message", session_id):
            name, data = Path(path).stem, read_small_file(path)
            message = decode_record(data, _file) or _File()
            parts = (
                OpencodePart(Path(part).stem, read_small_file(part)) for part in self._files("part", name)
            )
            yield OpencodeMessage(name, "", time_of(message.time.created), data, parts)

    def _listed(self) -> list[tuple[str, list[FileFacts]]]:
        """Return the sessions' files with the facts that change with their messages, the newest last."""
        listed = [
            (path, [file_facts(path), file_facts(os.path.join(self._path, "message", Path(path).stem))])
            for path in self._session_files()
        ]
        listed = sorted(
            (item for item in listed if item[1][0]), key=lambda item: max(part[2:] for part in item[1])
        )
        for path, facts in listed[-_NEWEST:]:
            facts += [file_facts(name) for name in self._files("message", Path(path).stem)[-1:]]
        return listed

    def _session_files(self) -> list[str]:
        projects = paths_in(self._path / "session")
        return [path for project in projects for path in paths_in(Path(project)) if path.endswith(".json")]

    def _files(self, kind: str, name: str) -> list[str]:
        return [path for path in paths_in(self._path / kind / name) if path.endswith(".json")]


def open_store(path: Path) -> ConversationDatabase:
    """Return a database of opencode, or the folder `storage` that it replaced."""
    return OpencodeFiles(path) if path.name == "storage" else OpencodeDatabase(path)


READER: Final = open_store
