"""Copies of conversations that stay after their program deleted them, if a source is set to keep them.

Each copy is one compressed file with the text as it is indexed: one line per message, without secrets. While the
program has the conversation, the copy only follows it.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Collection
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from memd.index.transcripts import SessionFacts
from memd.index.work import WorkRow
from memd.programs.conversation import Conversation
from memd.programs.unreadable import unreadable
from memd.settings.ram_budget import MB
from memd.sources.exclusions import NOTHING_EXCLUDED, Exclusions
from memd.sources.forgotten import ForgottenOf, conversation_text
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.system.clock import Clock, wall_clock_ms
from memd.system.log import log
from memd.system.safe_open import FileStat, stat_of
from memd.system.state_file import replace_synced, replace_whole
from memd.system.temp_files import remove_leftovers
from memd.text.forgotten import NOTHING_FORGOTTEN, Forgotten
from memd.text.trust.origins import UNKNOWN, LineOrigins

ENDING: Final = ".json.gz"
DELETED: Final = ".deleted" + ENDING
"""Endings of the copies of existing and of deleted conversations."""

MAX_COPY_BYTES: Final = 256 * MB
DAY_MS: Final = 24 * 60 * 60 * 1000
DAYS_FILE: Final = ".days.json"


class _Copy(msgspec.Struct):
    """The contents of a copy."""

    path: str
    text: str
    line_map: list[int]
    times: list[int]
    redactions: int
    hash: str
    facts: SessionFacts
    work: list[WorkRow] | None = None
    origins: LineOrigins = UNKNOWN


class RetainedCopy(NamedTuple):
    """A copy on disk; `is_deleted`: whether its program deleted the conversation, at its `mtime_ns`."""

    location: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    is_deleted: bool


class RetainedLimits(NamedTuple):
    """Limits of a source's copies; 0 days: no limit of their age.

    Only days on which the source was scanned count: neither a wrong clock nor a machine that was off for long may
    delete what exists nowhere else.
    """

    days: int
    megabytes: int


class RetainedCopies:
    """The copies of one source in a folder, by the names of their conversations."""

    def __init__(self, folder: Path, limits: RetainedLimits, clock: Clock) -> None:
        self.folder = folder
        self._limits = limits
        self._clock = clock
        self._copies: dict[str, RetainedCopy] | None = None
        self._days: list[int] | None = None

    def __repr__(self) -> str:
        return f"<RetainedCopies in {self.folder}>"

    def all(self) -> dict[str, RetainedCopy]:
        """Return all copies (blocking; reads the folder once)."""
        if self._copies is None:
            self._copies = {}
            with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as entries:
                for entry in entries:
                    name = _name_of(entry.name)
                    if name and entry.is_file(follow_symlinks=False):
                        self._copies[name] = _copy_at(entry.path)
        return self._copies

    def write(self, name: str, path: str, file: FileText) -> None:
        """Write a copy (blocking). A failure is logged, and the conversation is indexed all the same."""
        copy = _Copy(
            path,
            file.text,
            list(file.line_map),
            list(file.times),
            file.redactions,
            file.hash,
            file.facts,
            None if file.work is None else list(file.work),
            file.origins,
        )
        target = self.folder / f"{name}{ENDING}"
        try:
            replace_whole(target, gzip.compress(msgspec.json.encode(copy), 6, mtime=0))
        except OSError as error:
            log.warning("sources.copy_not_kept", folder=str(self.folder), error=error.strerror)
            return
        before = self.all().get(name)
        if before is not None and before.is_deleted:
            Path(before.location).unlink(missing_ok=True)
        self.all()[name] = _copy_at(str(target))
        self.prune()

    def mark(self, name: str, *, is_deleted: bool) -> None:
        """Record that a conversation was deleted now, or is back (blocking)."""
        known = self.all().get(name)
        if known is None or known.is_deleted == is_deleted:
            return
        target = str(self.folder / f"{name}{DELETED if is_deleted else ENDING}")
        try:
            now_ns = self._clock() * 1_000_000
            os.utime(known.location, ns=(now_ns, now_ns))
            os.replace(known.location, target)
            self.all()[name] = _copy_at(target)
        except OSError:
            self._copies = None  # read again

    def read(self, name: str, found: SourceFile) -> FileText:
        """Return the text of a copy (blocking)."""
        try:
            copy = _decoded(found.location)
        except (OSError, EOFError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._copies = None
            hint = f"remove the copy {found.location}"
            raise unreadable(found.path, f"can't be read from its copy: {error}", "damaged", hint) from None
        return FileText(
            copy.text,
            f"{copy.hash}:deleted",
            *found.stat,
            tuple(copy.line_map),
            copy.redactions,
            times=tuple(copy.times),
            facts=copy.facts._replace(is_deleted=True),
            work=None if copy.work is None else tuple(copy.work),
            origins=copy.origins,
        )

    def forget_texts(self, name: str, forgotten: Forgotten, *, erases: bool) -> int:
        """Return how many forgotten texts a copy contains; erase them, or the copy of a forgotten one (blocking)."""
        known = self.all()[name]
        remove_leftovers(self.folder)  # of an erasure that was killed
        copy = _decoded(known.location)
        count = sum(1 for _ in forgotten.matches("\n".join((copy.text, copy.facts.title))))
        hidden, is_gone = forgotten.mask_all(copy), forgotten.has(conversation_text(copy.path))
        if erases and is_gone:
            self._remove(name)
        elif erases and hidden != copy:
            replace_whole(Path(known.location), gzip.compress(msgspec.json.encode(hidden), 6, mtime=0))
            os.utime(known.location, ns=(known.mtime_ns, known.mtime_ns))
        return count or int(is_gone or hidden != copy)

    def prune(self) -> None:
        """Delete copies beyond the limits: deleted conversations first, the oldest first (blocking)."""
        copies = self.all()
        left = sum(copy.size for copy in copies.values())
        for name, copy in sorted(copies.items(), key=lambda item: (not item[1].is_deleted, item[1].mtime_ns)):
            if left > self._limits.megabytes * MB or (copy.is_deleted and self._is_outdated(copy.mtime_ns)):
                left -= copy.size
                self._remove(name)

    def _is_outdated(self, deleted_ns: int) -> bool:
        """Return whether the copy of a conversation that was deleted at a time is beyond the limit of age."""
        later = [day for day in self._observed_days() if day > deleted_ns // (DAY_MS * 1_000_000)]
        return 0 < self._limits.days < len(later)

    def has_new_day(self) -> bool:
        """Return whether a new day has begun since the last call of `observe_day` (blocking)."""
        return bool(self._limits.days) and self._observed_days()[-1:] != [self._clock() // DAY_MS]

    def observe_day(self) -> None:
        """Record that the source was scanned today (blocking). Later days are dropped: the clock was wrong then."""
        if not self.has_new_day():
            return
        today = self._clock() // DAY_MS
        before = [day for day in self._observed_days() if day < today]
        self._days = [*before[-self._limits.days - 1 :], today]
        with contextlib.suppress(
            OSError
        ):  # without a folder there are no copies; a lost day lengthens the limit
            replace_synced(self.folder / DAYS_FILE, msgspec.json.encode(self._days), 0o600)

    def _observed_days(self) -> list[int]:
        if self._days is None:
            try:
                self._days = msgspec.json.decode((self.folder / DAYS_FILE).read_bytes(), type=list[int])
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                self._days = []  # counting starts again
        return self._days

    def deleted(self) -> list[str]:
        """Return the names of the deleted conversations (blocking)."""
        return [name for name, copy in self.all().items() if copy.is_deleted]

    def forget(self, names: Collection[str]) -> int:
        """Delete copies, and unfinished ones; return how many (blocking)."""
        count = len(self.all().keys() & set(names))
        for name in names:
            self._remove(name)
        for draft in self.folder.glob(".*.tmp"):
            draft.unlink(missing_ok=True)
        if not self.all():
            (self.folder / DAYS_FILE).unlink(missing_ok=True)
        return count

    def _remove(self, name: str) -> None:
        copy = self.all().pop(name, None)
        if copy is not None:
            Path(copy.location).unlink(missing_ok=True)


def find_retained(folder: Path) -> dict[tuple[str, str], RetainedCopies]:
    """Return the copies below a folder, by agent and source (blocking)."""
    found = {}
    for place in sorted(folder.glob("*/*")):
        copies = RetainedCopies(place, RetainedLimits(0, 0), wall_clock_ms)
        if place.is_dir() and not place.is_symlink() and copies.all():
            found[place.parent.name, place.name] = copies
    return found


class RetainedConversations(Source):
    """A source whose conversations stay when their program deletes them."""

    is_conversation = True

    def __init__(
        self,
        source: Source,
        copies: RetainedCopies,
        exclusions: Exclusions = NOTHING_EXCLUDED,
        forgotten: ForgottenOf = lambda: NOTHING_FORGOTTEN,
    ) -> None:
        self.name = source.name
        self.copies = copies
        self._source = source
        self.inner = (source,)
        self._exclusions = exclusions
        self._forgotten = forgotten
        self._lock = Lock()
        self._seen: Listing | None = None
        self._listing = Listing()
        self._retained: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<RetainedConversations of {self._source!r}>"

    def find(self) -> Listing:
        """Return the current conversations and copies of deleted ones; see `Source.find`."""
        seen = self._source.find()
        with self._lock:
            if seen is not self._seen or self.copies.has_new_day():
                self._seen = seen
                self._add_copies(seen)
            return self._listing

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation's text; see `Source.load`. A copy is written for an existing one."""
        with self._lock:
            name = self._retained.get(found.path)
        if name is not None:
            return self.copies.read(name, found)
        text: FileText = self._forgotten().mask_all(self._source.load(found))
        if text.text and not self._exclusions.excludes(text.facts.cwd, text.facts.project):
            with self._lock:
                self.copies.write(found.path.removeprefix(f"{self.name}/"), found.path, text)
        return text

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation with the agent's work; see `Source.load_work`. A copy has its text only."""
        with self._lock:
            is_copy = found.path in self._retained
        return None if is_copy else self._source.load_work(found)

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how much a conversation grew; see `Source.growth`."""
        return self._source.growth(found, indexed)

    def forget(self, names: Collection[str]) -> int:
        """Delete copies for good; return how many."""
        with self._lock:
            count = self.copies.forget(names)
            self._seen = None
        return count

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _add_copies(self, seen: Listing) -> None:
        """Combine existing conversations and copies of deleted ones."""
        self._retained = {}
        retained: dict[str, SourceFile] = {}
        if not seen.unseen:
            self.copies.observe_day()
            for name in list(self.copies.all()):
                self.copies.mark(name, is_deleted=f"{self.name}/{name}" not in seen.files)
            self.copies.prune()
            for name in self.copies.deleted():
                path, copy = f"{self.name}/{name}", self.copies.all()[name]
                self._retained[path] = name
                retained[path] = SourceFile(path, *copy[:5], self.name, is_conversation=True)
        self._listing = replace(seen, files=seen.files | retained)


def _decoded(location: str) -> _Copy:
    """Return the contents of a copy."""
    with open(location, "rb") as opened:
        data = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(opened.read(), MAX_COPY_BYTES)
    return msgspec.json.decode(data, type=_Copy)


def _name_of(file_name: str) -> str:
    """Return the conversation's name in the name of a copy; empty for other files."""
    if file_name.startswith(".") or not file_name.endswith(ENDING):
        return ""
    return file_name.removesuffix(DELETED).removesuffix(ENDING)


def _copy_at(location: str) -> RetainedCopy:
    """Return a copy on disk."""
    facts = os.stat(location, follow_symlinks=False)
    return RetainedCopy(location, *stat_of(facts), location.endswith(DELETED))
