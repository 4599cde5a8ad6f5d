"""Atomic writes to an agent's Markdown, through descriptors, that keep the writes of other programs.

Every name below the root is opened relative to the descriptor of its parent folder, and none may be a symbolic link. A
lock on the folder serializes all memd processes; users and agents write without it. Therefore appending never rewrites,
changes go through `replacing`, and both check that their text is in the file before they return. A full note continues
in another file: `facts.md`, `facts-2.md`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from memd.lifecycle.files.folder_files import (
    FLAGS,
    GRACE_S,
    LIMIT_BYTES,
    decode,
    open_plain,
    read_bytes,
    require_size,
    wait_for_writers,
    write_new,
)
from memd.lifecycle.files.replacing import remove_text, replace_text
from memd.sources.capacity import SourceLimits, WriteCapacity, find_capacity
from memd.system.safe_open import FOLDER_MODE, SymlinkInPathError, open_below, open_folder, open_listing
from memd.text.lines import whole_lines
from memd.text.three_way import with_line_ends
from memd_client.errors import FileUnreadableError, NoteUnwritableError, PathRefusedError

LOCK_TIMEOUT_S = 10.0
LOCK_POLL_INTERVAL_S = 0.01
"""Longest wait for a folder's lock, and the interval of attempts: other processes keep it for milliseconds."""

MAX_APPEND_TRIES = 5
"""How often text is appended again because another program overwrote it meanwhile."""

APPEND_TIMEOUT_S = 0.25
"""Longest wait of appending for a program that has the file open for writing and may be rewriting it."""

UNLIMITED_ROOM = WriteCapacity(LIMIT_BYTES, 1, LIMIT_BYTES)
"""Capacity for one file of any size within the limits."""


class AppendResult(Struct, frozen=True):
    """The first and last line of appended text, from 1; both 0 if nothing was appended.

    `moved` counts the lines by which it is further down than expected, because another program wrote just before.
    """

    path: str
    start_line: int = 0
    end_line: int = 0
    moved: int = 0


def read(root: Path, path: str, limit_bytes: int = LIMIT_BYTES, *, cut: bool = False) -> str | None:
    """Return the text of a file, or None if there is none."""
    with _errors(path, FileUnreadableError):
        try:
            with _folder(root, path, make=False) as (folder, name):
                data = _read_in(folder, name, path, limit_bytes + 1)
        except FileNotFoundError:
            return None
        if cut:
            data = whole_lines(data, limit_bytes)
        require_size(len(data), path, limit_bytes)
        return decode(data, path)


def append(
    root: Path, path: str, make: Callable[[str], str], room: WriteCapacity = UNLIMITED_ROOM
) -> AppendResult | None:
    """Append to a file, creating it and its folders if they are missing."""
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        most_bytes = min(room.file_bytes, LIMIT_BYTES)
        for _ in range(MAX_APPEND_TRIES):
            held = _read_before(folder, name, path, most_bytes + 1)
            if len(held) > most_bytes:
                return None
            held_text = decode(held, path)
            text = make(held_text)
            if not text:
                return AppendResult(path)
            lead = "\n" if held and not held.endswith(b"\n") else ""
            data = with_line_ends(lead + text, held_text).encode()
            if held and len(held) + len(data) > most_bytes:
                return None
            room.require(path, len(data), is_new=not held)
            offset = _append_in(folder, name, data)
            written = _find_appended(folder, name, path, held, data, offset)
            if written is not None:
                return written
    raise NoteUnwritableError(f"other programs write to {path} continuously", data={"path": path})


def create(root: Path, path: str, text: str) -> bool:
    """Create a file atomically; return False if it exists."""
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        return write_new(folder, name, text.encode())


def change(root: Path, path: str, edit: Callable[[str], str]) -> bool:
    """Replace a file's text by the result of `edit`, atomically; return whether it changed."""
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        return replace_text(folder, name, path, edit)


def remove(root: Path, path: str, is_expected: Callable[[str], bool]) -> bool:
    """Remove a file if its text is as expected; return whether it is gone."""
    with _errors(path, NoteUnwritableError):
        try:
            with _folder(root, path, make=False) as (folder, name), _lock(folder):
                return remove_text(folder, name, path, is_expected)
        except FileNotFoundError:
            return True


def remove_empty_folders(root: Path, path: str) -> None:
    """Remove the folders that a path was in if they are empty, but not the first one below the root."""
    folders = path.split("/")[:-1]
    with contextlib.suppress(OSError):
        while len(folders) > 1:
            above = open_folder(str(root), folders[:-1])
            try:
                os.rmdir(folders.pop(), dir_fd=above)
            finally:
                os.close(above)


def _read_before(folder: int, name: str, path: str, most_bytes: int) -> bytes:
    """Return the contents of a file before appending, when no program is rewriting it."""
    for pause_s in (GRACE_S, 0.0):
        try:
            return _read_in(folder, name, path, most_bytes)
        except FileNotFoundError:
            time.sleep(pause_s)  # noqa: TID251 - some programs rename a file before they rewrite it
    return b""


def _read_in(folder: int, name: str, path: str, most_bytes: int | None) -> bytes:
    """Return a file's first bytes, when no program is rewriting it."""
    handle, _ = open_plain(folder, name, path)
    try:
        wait_for_writers(handle, APPEND_TIMEOUT_S)
        return read_bytes(handle, most_bytes)
    finally:
        os.close(handle)


def _append_in(folder: int, name: str, data: bytes) -> int:
    """Append bytes to a file in an open folder atomically; return their offset."""
    handle = open_below(folder, name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | FLAGS)
    done = 0
    try:
        try:
            while done < len(data):
                done += os.write(handle, memoryview(data)[done:])
            os.fsync(handle)
        except OSError:
            end = os.lseek(handle, 0, os.SEEK_CUR)
            if done and os.fstat(handle).st_size == end:  # another program may have appended behind it
                os.ftruncate(handle, end - done)
            raise
        end = os.lseek(handle, 0, os.SEEK_CUR)
    finally:
        os.close(handle)
    os.fsync(folder)
    return end - len(data)


def _find_appended(
    folder: int, name: str, path: str, held: bytes, data: bytes, offset: int
) -> AppendResult | None:
    """Return the location of appended text; None if another program has overwritten it."""
    try:
        now = _read_in(folder, name, path, None)
    except FileNotFoundError:
        return None
    if now[offset : offset + len(data)] != data:
        body = data.lstrip(b"\r\n")
        if now.count(body) <= held.count(body):
            return None
        offset, data = now.rfind(body), body
    elif offset and not data.startswith((b"\n", b"\r\n")) and now[offset - 1 : offset] != b"\n":
        _separate(folder, name, path, data)
        offset += 1
        now = now[: offset - 1] + b"\n" + now[offset - 1 :]
    found = now[offset : offset + len(data)]
    blank = len(found) - len(found.lstrip(b"\r\n"))
    start = now.count(b"\n", 0, offset + blank) + 1
    expected = held.count(b"\n") + 1 + data[: len(data) - len(data.lstrip(b"\r\n"))].count(b"\n")
    return AppendResult(path, start, start + data.strip(b"\r\n").count(b"\n"), start - expected)


def _separate(folder: int, name: str, path: str, data: bytes) -> None:
    """Insert a newline before appended text, if another program left an incomplete line before it."""
    text = data.decode()

    def edit(held: str) -> str:
        at = held.rfind(text)
        return held if at < 1 or held[at - 1] == "\n" else f"{held[:at]}\n{held[at:]}"

    replace_text(folder, name, path, edit)


@contextlib.contextmanager
def _folder(root: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Open the folder of a path and yield its descriptor and the file name; optionally create folders."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
        raise PathRefusedError(f"{path[:200]!r} is not a path below the workspace", data={"path": path[:200]})
    if make:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    here = open_folder(str(root), folders, make=make)
    try:
        yield here, name
    finally:
        os.close(here)


@contextlib.contextmanager
def _lock(folder: int) -> Iterator[None]:
    until = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, "another process has locked its folder") from None
            time.sleep(LOCK_POLL_INTERVAL_S)  # noqa: TID251 - a thread waits for another process
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


@contextlib.contextmanager
def _errors(path: str, kind: type[FileUnreadableError] | type[NoteUnwritableError]) -> Iterator[None]:
    """Convert errors of the file system to errors of memd that name the path."""
    try:
        yield
    except UnicodeEncodeError:
        raise NoteUnwritableError(
            f"{path[:200]}: the text contains lone surrogates", data={"path": path[:200]}
        ) from None
    except SymlinkInPathError:
        raise PathRefusedError(
            f"{path[:200]} is a symbolic link or below one", data={"path": path[:200]}
        ) from None
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise PathRefusedError(
                f"{path[:200]} is below a symbolic link or a file", data={"path": path[:200]}
            ) from None
        reason = error.strerror or type(error).__name__
        raise kind(f"{path[:200]}: {reason}", data={"path": path[:200]}) from None


MAX_PARTS = 1_000
"""Limit of parts of a note: more than an agent's limits allow."""

Make = Callable[[str, str], str]
"""Takes a part's path and its contents ("" if it is missing); returns the text to append, "" for none."""


def part_path(path: str, number: int) -> str:
    """Return the path of a part of a note, from 1; the first is the note itself."""
    return path if number == 1 else f"{path.removesuffix('.md')}-{number}.md"


def find_parts(root: Path, paths: Sequence[str]) -> list[str]:
    """Return the existing parts of notes of one folder, in the order of the notes and of their numbers (blocking)."""
    folder = paths[0].rpartition("/")[0]
    start = str(root).rstrip("/")
    try:
        with open_listing(start, f"{start}/{folder}") as entries:
            names = {f"{folder}/{entry.name}" for entry in entries}
    except (FileNotFoundError, NotADirectoryError, SymlinkInPathError):
        return []  # reading or writing the note reports the error
    return [part for path in paths for part in _parts_among(names, path)]


def append_part(root: Path, path: str, make: Make, limits: SourceLimits) -> AppendResult:
    """Append to the last part of a note, or to a new one if that is full (blocking)."""
    parts = find_parts(root, [path])
    last = parts[-1] if parts else path
    number = next(each for each in range(1, MAX_PARTS + 1) if part_path(path, each) == last)
    room = find_capacity(root, limits)
    for each in range(number, MAX_PARTS + 1):
        part = part_path(path, each)
        written = append(root, part, lambda held, part=part: make(part, held), room)  # type: ignore[misc]
        if written is not None:
            return written
    raise NoteUnwritableError(f"{path} has {MAX_PARTS} parts", data={"path": path})


def _parts_among(names: set[str], path: str) -> list[str]:
    """Return the names that are parts of a note, by number."""
    pattern = re.compile(rf"{re.escape(path.removesuffix('.md'))}-([1-9][0-9]{{0,2}})\.md")
    numbers = sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))
    first = [path] if path in names else []
    return first + [part_path(path, number) for number in numbers if number > 1]
