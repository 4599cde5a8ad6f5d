"""Titles of Codex sessions, from the file next to the folders of transcripts."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from memd.programs.records import decode_record, title_of
from memd.system.safe_open import open_unlinked, stat_of

NAME: Final = "session_index.jsonl"
MAX_INDEX_BYTES: Final = 16 * 1_048_576
"""The last part of a larger file is read."""


class _Entry(msgspec.Struct):
    id: Any = None
    thread_name: Any = None


_entry = msgspec.json.Decoder(_Entry)


class CodexTitles:
    """Reads the titles, which is repeated only if the file has changed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Path, tuple[tuple[int, ...], dict[str, str]]] = {}

    def read(self, folder: Path) -> Mapping[str, str]:
        """Return the titles in Codex's home, or in the folder above if it is the folder `sessions`."""
        path = (folder.parent if folder.name == "sessions" else folder) / NAME
        try:
            with os.fdopen(open_unlinked(path), "rb") as opened:
                facts = os.fstat(opened.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    return {}
                version = stat_of(facts)
                with self._lock:
                    known = self._known.get(path)
                    if known is None or known[0] != version:
                        start = max(0, facts.st_size - MAX_INDEX_BYTES)
                        data = os.pread(opened.fileno(), MAX_INDEX_BYTES, start)
                        known = self._known[path] = (version, _titles_in(data))
                    return known[1]
        except (OSError, ValueError):
            return {}


def _titles_in(data: bytes) -> dict[str, str]:
    """Return the last title of each session; an empty one removes it."""
    titles: dict[str, str] = {}
    for line in data.split(b"\n"):
        entry = decode_record(line, _entry) if line.strip() else None
        if entry is None or not isinstance(entry.id, str) or not isinstance(entry.thread_name, str):
            continue
        titles[entry.id] = title_of(entry.thread_name)
    return {session: title for session, title in titles.items() if title}
