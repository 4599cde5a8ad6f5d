"""Rows of files and chunks; the keyword rows are written together with them."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index import chunks_vec
from memd.index.annotations import store_annotations
from memd.index.keyword import Scope, insert_words_of_file, scope_sql
from memd.index.meta import EXCLUSIONS, active_space, bump_generation, set_meta
from memd.index.meta import generation as generation
from memd.index.numbers import pack_ids, unpack_ids
from memd.index.origins import forget_origins
from memd.index.work import forget_work
from memd.system.sqlite import Database, get_int
from memd.text.cut.chunking import Chunk
from memd.text.cut.simhash import simhashes


class FileRow(Struct, frozen=True):
    """One indexed file: its path in the index, and its hash and stat when it was read."""

    path: str
    source: str
    hash: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    indexed_at: int


class ChunkRow(msgspec.Struct, array_like=True, gc=False):
    """One chunk without its text; lines count from 1, both ends included.

    A msgspec struct, because every search decodes hundreds of them from SQLite's JSON.

    `start_char` and `end_char` are the position of its text in the file, the end excluded (both 0 if unknown);
    `likeness` is the simhash of its text (`memd.text.cut.simhash`, 0 if unknown).
    """

    id: int
    path: str
    source: str
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    hash: str
    likeness: int


class IndexCounts(Struct, frozen=True):
    """Number of files and chunks of an index."""

    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Effects of one committed change of a file.

    Attributes:
        generation: Generation of the index after the change.
        chunks_added: Number of chunks that were written.
        added_hashes: Text hashes that no chunk had before.
        added_characters: Total length of the texts of `added_hashes`.
        space_id: The active vector space, or None.
        added_vectors: Ids of vectors of that space, stored earlier, that came into use.
        added_matrix: (len(added_vectors), dims), those vectors; None if there are none.
        removed_vectors: Ids of vectors of that space that no chunk uses any more.
    """

    generation: int
    chunks_added: int = 0
    added_hashes: tuple[str, ...] = ()
    space_id: str | None = None
    added_vectors: tuple[int, ...] = ()
    added_matrix: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    removed_vectors: tuple[int, ...] = ()
    added_characters: int = 0


INSERTED_CHUNKS = 500
"""Chunks whose words are read at once: no call on the words of a whole file may stop all other threads."""

_CHUNK_ROWS = msgspec.json.Decoder(list[ChunkRow])

_OPTIONAL_IDS = msgspec.json.Decoder(list[int | None])

# One row instead of many: between two rows the GIL changes hands, which costs more than the rows.
_ROW_AS_JSON = f"json_array({', '.join('c.' + name for name in ChunkRow.__struct_fields__)})"
"""SQL expression of a `ChunkRow` of the table `c`."""


def load_files(db: Database) -> dict[str, FileRow]:
    """Return all file rows by path."""
    rows = db.execute("SELECT path, source, hash, mtime_ns, size, inode, ctime_ns, indexed_at FROM files")
    return {row[0]: FileRow(*row) for row in rows}


def count_all(db: Database) -> IndexCounts:
    """Return the number of files and chunks."""
    return IndexCounts(get_int(db, "SELECT count(*) FROM files"), get_int(db, "SELECT count(*) FROM chunks"))


def touch_file(db: Database, row: FileRow) -> None:
    """Write a file's row without changing its chunks."""
    db.execute(
        """INSERT INTO files (path, source, hash, mtime_ns, size, inode, ctime_ns, indexed_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (path) DO UPDATE SET source = excluded.source, hash = excluded.hash,
           mtime_ns = excluded.mtime_ns, size = excluded.size, inode = excluded.inode,
           ctime_ns = excluded.ctime_ns, indexed_at = excluded.indexed_at""",
        (row.path, row.source, row.hash, row.mtime_ns, row.size, row.inode, row.ctime_ns, row.indexed_at),
    )


def publish_file(db: Database, row: FileRow, chunks: Sequence[Chunk], now_ms: int) -> IndexChange:
    """Replace one file's chunks and their keyword rows; chunks with the same text keep their id."""
    old: dict[tuple[str, str], deque[tuple[int, tuple[int, ...]]]] = defaultdict(deque)
    sources = set()
    for key, source, digest, text, *place in db.execute(
        "SELECT id, source, hash, text, start_line, end_line, start_char FROM chunks WHERE path = ? ORDER BY id",
        (row.path,),
    ):
        old[digest, text].append((key, tuple(place)))
        sources.add(source)
    new: list[Chunk] = []
    moved: list[tuple[int, ...]] = []
    for chunk in chunks:
        same, place = old.get((chunk.hash, chunk.text)), (chunk.start_line, chunk.end_line, chunk.start)
        if not same:
            new.append(chunk)
            continue
        key, before = same.popleft()
        if place != before:
            moved.append((*place, chunk.start + len(chunk.text), key))
    gone = [key for keys in old.values() for key, _ in keys]
    arriving = _hashes_unused(db, (chunk.hash for chunk in new))
    leaving = {digest for (digest, _), keys in old.items() if keys}
    for start in range(0, len(new), INSERTED_CHUNKS):
        _insert_chunks(db, row, new[start : start + INSERTED_CHUNKS], now_ms)
    _delete_chunks(db, gone)
    db.executemany(
        "UPDATE chunks SET start_line = ?, end_line = ?, start_char = ?, end_char = ? WHERE id = ?", moved
    )
    has_other_source = bool(sources - {row.source})
    if has_other_source:
        db.execute("UPDATE chunks SET source = ? WHERE path = ?", (row.source, row.path))
    touch_file(db, row)
    published = _follow(
        db, len(new) + len(moved), bool(gone) or has_other_source, arriving, _hashes_unused(db, leaving)
    )
    lengths = {chunk.hash: len(chunk.text) for chunk in new}
    return replace(published, added_characters=sum(lengths[digest] for digest in arriving))


def forget_file(db: Database, path: str) -> IndexChange:
    """Delete a file and its chunks. Its vectors stay cached, so a file that comes back is not embedded again."""
    rows: list[tuple[int, str]] = list(db.execute("SELECT id, hash FROM chunks WHERE path = ?", (path,)))
    _delete_chunks(db, [key for key, _ in rows])
    db.execute("DELETE FROM files WHERE path = ?", (path,))
    db.execute("DELETE FROM transcripts WHERE path = ?", (path,))
    forget_work(db, path)
    forget_origins(db, path)
    store_annotations(db, path, ())
    leaving = _hashes_unused(db, {digest for _, digest in rows})
    return _follow(db, 0, bool(rows), (), leaving)


def forget_excluded(db: Database, fingerprint: str, excludes: Callable[[str, str], bool]) -> int:
    """Delete conversations that newly changed exclusions concern, to be read again if they are still listed.

    Args:
        db: The index.
        fingerprint: Differs for other exclusions; it is stored.
        excludes: (working directory, project) -> whether they are excluded.

    Returns:
        Number of deleted conversations: those that are excluded now, and those that were until now.
    """
    rows = db.execute("SELECT path, kind, cwd, project FROM transcripts").fetchall()
    paths = [str(path) for path, kind, *folders in rows if kind == "excluded" or excludes(*map(str, folders))]
    for path in paths:
        forget_file(db, path)
    set_meta(db, EXCLUSIONS, fingerprint)
    return len(paths)


def chunks_by_id(db: Database, ids: Sequence[int]) -> list[ChunkRow]:
    """Return chunks without their text, in the order of `ids`; unknown ids are left out.

    Without texts, because a search ranks hundreds of candidates and shows only a few.
    """
    row = db.execute(  # a cross join keeps the order of the ids
        f"""SELECT json_group_array({_ROW_AS_JSON})
            FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value""",
        (pack_ids(ids),),
    ).fetchall()[0]
    return _CHUNK_ROWS.decode(str(row[0]))


def chunks_of_vectors(
    db: Database, space_id: str, vector_ids: Sequence[int], scope: Scope | None = None
) -> list[tuple[int, int]]:
    """Return (vector id, chunk id): for each vector the chunk in scope with the lowest id that has its text."""
    condition, values = scope_sql(scope, "copy")
    row = db.execute(  # by rowid: unlike an index's, the pages of these vectors were probably just read
        f"""SELECT json_group_array(e.id), json_group_array(
              (SELECT min(copy.id) FROM chunks AS copy WHERE copy.hash = e.hash AND {condition}))
            FROM json_each(:ids) AS wanted
            CROSS JOIN embedding_cache AS e NOT INDEXED
              ON e.id = wanted.value AND e.provider_key = :space""",
        {**values, "ids": pack_ids(vector_ids), "space": space_id},
    ).fetchall()[0]
    chunk_ids = _OPTIONAL_IDS.decode(str(row[1]))
    return [
        (key, chunk) for key, chunk in zip(unpack_ids(row[0]), chunk_ids, strict=True) if chunk is not None
    ]


def load_texts(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of chunks by id."""
    values = (pack_ids(ids),)
    row = db.execute(
        """SELECT json_group_array(c.id), group_concat(c.text, char(0))
           FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value""",
        values,
    ).fetchall()[0]
    there = unpack_ids(row[0])
    texts = str(row[1]).split("\0") if there else []
    if len(texts) == len(there):
        return dict(zip(there, texts, strict=True))
    # A text contains the separator itself.
    rows = db.execute(
        "SELECT c.id, c.text FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value",
        values,
    )
    return {int(key): str(text) for key, text in rows}


def load_contexts(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the contexts of chunks by id."""
    rows = db.execute(
        "SELECT c.id, c.context FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value",
        (pack_ids(ids),),
    )
    return {int(key): str(context) for key, context in rows}


def _insert_chunks(db: Database, row: FileRow, chunks: Sequence[Chunk], now_ms: int) -> None:
    """Write chunks and their keyword rows. Call before deleting, so that a change never reuses an id."""
    first = get_int(db, "SELECT coalesce(max(id), 0) + 1 FROM chunks")
    numbers = simhashes([chunk.text for chunk in chunks])
    db.executemany(
        """INSERT INTO chunks (id, path, source, start_line, end_line, start_char, end_char, hash, likeness,
           updated_at, context, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            (
                key,
                row.path,
                row.source,
                chunk.start_line,
                chunk.end_line,
                chunk.start,
                chunk.start + len(chunk.text),
                chunk.hash,
                number,
                now_ms,
                chunk.context,
                chunk.text,
            )
            for key, (chunk, number) in enumerate(zip(chunks, numbers, strict=True), first)
        ),
    )
    insert_words_of_file(
        db, row.path, [(key, chunk.context, chunk.text) for key, chunk in enumerate(chunks, first)]
    )


def _delete_chunks(db: Database, ids: Sequence[int]) -> None:
    """Delete chunks and their keyword rows."""
    if ids:
        db.executemany("DELETE FROM chunks_fts WHERE rowid = ?", ((key,) for key in ids))
        db.executemany("DELETE FROM chunks WHERE id = ?", ((key,) for key in ids))
        db.executemany("DELETE FROM chunk_times WHERE id = ?", ((key,) for key in ids))


def _hashes_unused(db: Database, hashes: Iterable[str]) -> tuple[str, ...]:
    """Return those of the hashes that no chunk has, sorted."""
    wanted = sorted(set(hashes))
    if not wanted:
        return ()
    rows = db.execute(
        """SELECT value FROM json_each(?)
           WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE hash = value) ORDER BY key""",
        (json.dumps(wanted),),
    )
    return tuple(str(row[0]) for row in rows)


def _follow(
    db: Database, added: int, has_changed: bool, arriving: tuple[str, ...], leaving: tuple[str, ...]
) -> IndexChange:
    """Increment the generation if chunks changed, and update `chunks_vec`."""
    generation_now = bump_generation(db) if added or has_changed else generation(db)
    space = active_space(db)
    if space is None or not (arriving or leaving):
        space_id = None if space is None else space.id
        return IndexChange(generation_now, added, arriving, space_id)
    new = _vectors(db, space.id, space.dims, arriving, "e.embedding")
    gone = tuple(key for key, _ in _vectors(db, space.id, space.dims, leaving, "NULL"))
    ids = tuple(key for key, _ in new)
    matrix = None
    if new:
        packed = b"".join(blob for _, blob in new)
        matrix = (
            np.frombuffer(packed, dtype="<f4").reshape(len(new), space.dims).astype(np.float32, copy=False)
        )
    chunks_vec.follow(db, space.id, gone, ids, matrix)
    return IndexChange(generation_now, added, arriving, space.id, ids, matrix, gone)


def _vectors(
    db: Database, space_id: str, dims: int, hashes: tuple[str, ...], column: str
) -> list[tuple[int, bytes]]:
    """Return (id, column) of the vectors of a space for some hashes, by id."""
    if not hashes:
        return []
    rows = db.execute(
        f"""SELECT e.id, {column} FROM embedding_cache AS e
            WHERE e.provider_key = ? AND e.hash IN (SELECT value FROM json_each(?)) AND e.dims = ?
            ORDER BY e.id""",
        (space_id, json.dumps(hashes), dims),
    )
    return [(int(row[0]), row[1]) for row in rows]


MAX_TITLE_CHARS = 200
"""Longest title; longer ones are truncated."""

_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<title>\S[^\n]*?)[ \t]*#*[ \t]*$", re.MULTILINE)


class ListedFile(NamedTuple):
    """Number of chunks of a file, and the first heading of its first chunk, empty if there is none."""

    chunks: int = 0
    title: str = ""


def list_files(db: Database, paths: Sequence[str]) -> dict[str, ListedFile]:
    """Return chunk counts and titles of files by path; files that aren't in the index are left out."""
    rows = db.execute(
        """SELECT f.path, f.source,
             (SELECT count(*) FROM chunks WHERE path = f.path),
             (SELECT iif(origins & 8, '', text) FROM chunks WHERE path = f.path ORDER BY start_char, id LIMIT 1)
           FROM json_each(?) AS wanted CROSS JOIN files AS f ON f.path = wanted.value""",
        (json.dumps(list(paths)),),
    )
    return {
        str(path): ListedFile(int(chunks), _first_heading(text or "") if source == "memory" else "")
        for path, source, chunks, text in rows
    }


def _first_heading(markdown: str) -> str:
    """Return the first heading of a text without its number signs, empty if there is none."""
    found = _HEADING.search(markdown)
    return "" if found is None else found["title"][:MAX_TITLE_CHARS]
