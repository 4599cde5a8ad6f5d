"""Files of chat exports, unpacked or in an archive as it was downloaded: any part of one can be read by itself."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from memd.system.safe_open import open_unlinked, stat_of
from memd.system.sqlite import ForeignDatabaseError

BLOCK_BYTES: Final = 8 * 1_048_576
"""Bytes between two positions at which unpacking can begin."""

MAX_BLOCKS: Final = 512
"""Most blocks of a file, 4 GB: an archive that expands to more is refused."""

MAX_DIRECTORY_BYTES: Final = 8 * 1_048_576
"""Most bytes of an archive's list of files, about 60,000 of them."""

MAX_DEPTH, MAX_FOLDERS = 4, 2_000
"""Limits on the folders below a folder in which exports are searched for."""

_STEP_BYTES: Final = 16_384
_HEADER_BYTES: Final = 30
_PART = re.compile(r"(?:-batch-\d{4}|(?<=Z)(?:-\d)?-\d{3})(?=\.zip\Z)")
"""What differs in the names of the archives of one export, of Claude and of Google."""


class ExportFile:
    """The contents of a file, which are some bytes of a file on disk, compressed or not."""

    def __init__(
        self, path: Path, file: io.BufferedReader, start: int, size: int, *, is_packed: bool
    ) -> None:
        self._path, self._end, self._is_packed = path, start + size, is_packed
        self._stat = stat_of(os.fstat(file.fileno()))
        self._positions: list[tuple[int, Any]] = [(start, zlib.decompressobj(-zlib.MAX_WBITS))]
        self._last = (-1, b"")

    def blocks(self) -> Iterator[bytes]:
        """Yield the contents in blocks."""
        for number in range(MAX_BLOCKS):
            if not (block := self._block(number)):
                return self._check()
            yield block
        raise ForeignDatabaseError("it expands to more than 4 GB", unknown=True)

    def read(self, start: int, size: int) -> bytes:
        """Return a part of the contents, all of which were read before."""
        self._check()
        first = start // BLOCK_BYTES
        data = b"".join(map(self._block, range(first, (start + size - 1) // BLOCK_BYTES + 1)))
        return data[start - first * BLOCK_BYTES :][:size]

    def _check(self) -> None:
        """Raise if the file on disk is no longer the one that was opened."""
        with open_regular(self._path) as file:
            if stat_of(os.fstat(file.fileno())) != self._stat:
                raise ForeignDatabaseError("it is being replaced", busy=True)

    def _block(self, number: int) -> bytes:
        """Return a block; empty after the last one."""
        if self._last[0] == number or number >= len(self._positions):
            return self._last[1] if self._last[0] == number else b""
        position, unpacking = self._positions[number]
        unpacking, parts, left = unpacking.copy(), list[bytes](), BLOCK_BYTES
        with open_regular(self._path) as file:
            file.seek(position)
            while left and not unpacking.eof:
                data = unpacking.unconsumed_tail or file.read(min(_STEP_BYTES, left, self._end - file.tell()))
                try:
                    part = unpacking.decompress(data, left) if self._is_packed else data
                except zlib.error:
                    raise ForeignDatabaseError("it is damaged", unknown=True) from None
                if not part and not data:
                    if self._is_packed or file.tell() < self._end:
                        raise ForeignDatabaseError("it is damaged: it ends early", unknown=True)
                    break
                parts.append(part)
                left -= len(part)
            if number + 1 == len(self._positions) and not left:
                self._positions.append((file.tell(), unpacking))
        self._last = number, b"".join(parts)
        return self._last[1]


class _Bounded(io.BufferedReader):
    """A file of which no more than a list of files of limited size is read at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return some bytes."""
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile
        return super().read(MAX_DIRECTORY_BYTES if size is None or size < 0 else size)


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file, unless it is a link or isn't a regular one."""
    try:
        file = _Bounded(io.FileIO(open_unlinked(path)))
    except OSError as error:
        raise ForeignDatabaseError((error.strerror or "it is gone").lower()) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ForeignDatabaseError("it is not a regular file", unknown=True)
    return file


def open_export(path: Path, names: re.Pattern[str]) -> list[tuple[str, ExportFile]]:
    """Return the files of an export by name, sorted: those in an archive that match, or the file itself."""
    files = []
    with open_regular(path) as file:
        if path.suffix.lower() != ".zip":
            size = os.fstat(file.fileno()).st_size
            return [(path.name, ExportFile(path, file, 0, size, is_packed=False))]
        try:
            for entry in zipfile.ZipFile(file).infolist():
                is_file = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
                if not is_file or ".." in entry.filename.split("/") or not names.fullmatch(entry.filename):
                    continue
                if entry.flag_bits & 1 or entry.compress_type not in (
                    zipfile.ZIP_STORED,
                    zipfile.ZIP_DEFLATED,
                ):
                    raise ForeignDatabaseError("it is encrypted, or packed in an unknown way", unknown=True)
                file.seek(entry.header_offset)
                header = file.read(_HEADER_BYTES).ljust(_HEADER_BYTES)
                if not header.startswith(b"PK\3\4"):
                    raise zipfile.BadZipFile
                start = file.tell() + sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
                is_packed = entry.compress_type == zipfile.ZIP_DEFLATED
                opened = ExportFile(path, file, start, entry.compress_size, is_packed=is_packed)
                files.append((entry.filename, opened))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            reason = "it is no zip archive, or it is damaged or not complete"
            raise ForeignDatabaseError(reason, unknown=True) from None
    return sorted(files, key=lambda each: each[0])


def exports_at(path: Path, names: re.Pattern[str]) -> list[list[Path]]:
    """Return the exports at a path, each as its files, the newest first: the file itself, or those in the folder."""
    if not path.is_dir():
        return [[path]]
    exports: dict[str, list[tuple[float, Path]]] = {}
    for folder, folders, files in islice(os.walk(path), MAX_FOLDERS):
        if len(Path(folder).relative_to(path).parts) >= MAX_DEPTH:
            folders.clear()
        for name in files:
            file = Path(folder, name)
            is_archive = name.lower().endswith(".zip") and folder == str(path)
            if (is_archive or names.fullmatch(str(file))) and file.is_file():
                key = _PART.sub("", name) if is_archive else f"{folder}/"
                exports.setdefault(key, []).append((file.stat().st_mtime, file))
    return [sorted(file for _, file in files) for files in sorted(exports.values(), key=max, reverse=True)]
