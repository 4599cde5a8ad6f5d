"""What kind of session a transcript file is: by OpenClaw's list beside it, else by how it begins."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from memd.sync.disk.safe_open import open_unlinked
from memd.sync.transcripts.zstd import decompress_beginning
from memd.text.transcripts.messages import kind_of_key, kind_of_opening

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
