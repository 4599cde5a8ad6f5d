"""The tables of an index, and how an older file becomes a current one.

`docs/storage.md` explains each table. `user_version` counts the steps a file has been through; a step, once
released, is never changed.
"""

from __future__ import annotations

from collections.abc import Callable

from memd.index.database import Database, get_int
from memd.index.keyword import RANK, insert_words

APPLICATION_ID = 0x6D656D64
"""Written into the file's header (`memd` in ASCII), so that no other file is taken for ours."""

TABLES = """
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
  path TEXT PRIMARY KEY,
  source TEXT NOT NULL DEFAULT 'memory',
  hash TEXT NOT NULL,
  mtime_ns INTEGER NOT NULL,
  size INTEGER NOT NULL,
  inode INTEGER NOT NULL DEFAULT 0,
  indexed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'memory',
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  hash TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX chunks_by_path ON chunks (path, source, hash);
CREATE INDEX chunks_by_hash ON chunks (hash, path, source);

CREATE TABLE embedding_cache (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  provider_key TEXT NOT NULL,
  hash TEXT NOT NULL,
  dims INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  embedding BLOB NOT NULL,
  UNIQUE (provider_key, hash)
) STRICT;

CREATE INDEX embedding_hashes ON embedding_cache (id, provider_key, hash);

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
# The long column stands last in its row, so that the others are read without it. Ids of vectors are never
# used twice (AUTOINCREMENT): the matrix in memory and `chunks_vec` tell by the id alone what they lack.


def _create(db: Database) -> None:
    """Lay the tables of the first release."""
    db.execute(TABLES)
    db.pragma("application_id", APPLICATION_ID)


def _follow_transcripts(db: Database) -> None:
    """Tell a file's every change by its ctime too, and keep what a transcript's lines were."""
    db.execute(
        """ALTER TABLE files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;

        CREATE TABLE transcripts (
          path TEXT PRIMARY KEY,
          messages INTEGER NOT NULL,
          redactions INTEGER NOT NULL,
          line_map BLOB NOT NULL
        ) STRICT;"""
    )


def _note_refused_texts(db: Database) -> None:
    """Keep the texts that a provider refused, so that it isn't asked for them again and people can see which."""
    db.execute(
        """CREATE TABLE refused_texts (
          provider_key TEXT NOT NULL,
          hash TEXT NOT NULL,
          reason TEXT NOT NULL,
          updated_at INTEGER NOT NULL,
          PRIMARY KEY (provider_key, hash)
        ) STRICT, WITHOUT ROWID;"""
    )


def _tell_passages(db: Database) -> None:
    """Keep of a chunk where its text stands, and a number that tells how alike two are; search names and headings.

    Both are unknown of chunks written before: they are cut anew by the next sync, and found as before until then.
    """
    db.execute(
        """CREATE TABLE new_chunks (
          id INTEGER PRIMARY KEY,
          path TEXT NOT NULL,
          source TEXT NOT NULL DEFAULT 'memory',
          start_line INTEGER NOT NULL,
          end_line INTEGER NOT NULL,
          start_char INTEGER NOT NULL,
          end_char INTEGER NOT NULL,
          hash TEXT NOT NULL,
          likeness INTEGER NOT NULL,
          updated_at INTEGER NOT NULL,
          context TEXT NOT NULL,
          text TEXT NOT NULL
        ) STRICT;

        INSERT INTO new_chunks SELECT id, path, source, start_line, end_line, 0, 0, hash, 0, updated_at, '', text
        FROM chunks;

        DROP TABLE chunks;
        ALTER TABLE new_chunks RENAME TO chunks;
        CREATE INDEX chunks_by_path ON chunks (path, source, hash);
        CREATE INDEX chunks_by_hash ON chunks (hash, path, source);
        CREATE INDEX chunks_by_place ON chunks (path, start_char);

        DROP TABLE chunks_fts;
        CREATE VIRTUAL TABLE chunks_fts USING fts5 (
          text, extra, context,
          content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
        );"""
    )
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('rank', ?)", (RANK,))
    for key, path, text in db.execute("SELECT id, path, text FROM chunks").fetchall():
        insert_words(db, int(str(key)), str(path), "", str(text))


def _part_conversations(db: Database) -> None:
    """Keep where the last conversation of a transcript begins; all transcripts are read and cut once more."""
    db.execute("ALTER TABLE transcripts ADD COLUMN last_from INTEGER NOT NULL DEFAULT 1")
    db.execute("UPDATE files SET hash = '', mtime_ns = 0 WHERE source = 'sessions'")


STEPS: tuple[Callable[[Database], None], ...] = (
    _create,
    _follow_transcripts,
    _note_refused_texts,
    _tell_passages,
    _part_conversations,
)
"""Step n brings a file from `user_version` n to n + 1."""

VERSION = len(STEPS)
"""The `user_version` of a current file."""


def migrate(db: Database) -> None:
    """Bring a file to the current version; call inside a transaction."""
    version = get_int(db, "PRAGMA user_version")
    if version == VERSION:
        return
    for step in STEPS[version:]:
        step(db)
    db.pragma("user_version", VERSION)
