"""The tables of an index, and the migrations of older files.

`docs/storage.md` explains each table. `user_version` counts the applied migrations; a released migration is never
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memd.index.keyword import RANK, insert_words
from memd.index.work import RANK as WORK_RANK
from memd.system.sqlite import Database, get_int

APPLICATION_ID = 0x6D656D64
"""Written into the file's header (`memd` in ASCII), so that no other file is mistaken for an index."""


def _create(db: Database) -> None:
    """Create the tables of the first release."""
    db.execute(Path(__file__).with_name("tables.sql").read_text("utf-8"))
    db.pragma("application_id", APPLICATION_ID)


def _add_transcripts(db: Database) -> None:
    """Add the ctime of files, which detects every change, and the line maps of transcripts."""
    db.execute(
        """ALTER TABLE files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;

        CREATE TABLE transcripts (
          path TEXT PRIMARY KEY,
          messages INTEGER NOT NULL,
          redactions INTEGER NOT NULL,
          line_map BLOB NOT NULL
        ) STRICT;"""
    )


def _add_refused_texts(db: Database) -> None:
    """Add the texts that a provider refused, so that they are reported and not sent again."""
    db.execute(
        """CREATE TABLE refused_texts (
          provider_key TEXT NOT NULL,
          hash TEXT NOT NULL,
          reason TEXT NOT NULL,
          updated_at INTEGER NOT NULL,
          PRIMARY KEY (provider_key, hash)
        ) STRICT, WITHOUT ROWID;"""
    )


def _add_chunk_positions(db: Database) -> None:
    """Add the position and simhash of chunks, and keyword search in file names and headings.

    Both are unknown for existing chunks, which the next sync writes again; until then they are found as before.
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


def _add_last_conversations(db: Database) -> None:
    """Add the line at which a transcript's last conversation begins; all transcripts are indexed again."""
    db.execute("ALTER TABLE transcripts ADD COLUMN last_from INTEGER NOT NULL DEFAULT 1")
    db.execute("UPDATE files SET hash = '', mtime_ns = 0 WHERE source = 'sessions'")


def _add_conversations(db: Database) -> None:
    """Add what is known about each transcript's session, and the times of its messages and chunks."""
    for column in (
        "program TEXT NOT NULL DEFAULT ''",
        "session TEXT NOT NULL DEFAULT ''",
        "kind TEXT NOT NULL DEFAULT 'main'",
        "title TEXT NOT NULL DEFAULT ''",
        "cwd TEXT NOT NULL DEFAULT ''",
        "project TEXT NOT NULL DEFAULT ''",
        "branch TEXT NOT NULL DEFAULT ''",
        "started_ms INTEGER NOT NULL DEFAULT 0",
        "updated_ms INTEGER NOT NULL DEFAULT 0",
        "unknown INTEGER NOT NULL DEFAULT 0",
        "is_deleted INTEGER NOT NULL DEFAULT 0",
        "times BLOB NOT NULL DEFAULT x''",
    ):
        db.execute(f"ALTER TABLE transcripts ADD COLUMN {column}")
    db.execute("CREATE INDEX transcripts_by_session ON transcripts (session)")
    db.execute("CREATE TABLE chunk_times (id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL) STRICT")


def _add_unknown_types(db: Database) -> None:
    """Add the unknown types of records and the releases that wrote them; sessions with such records are read again."""
    db.execute("ALTER TABLE transcripts ADD COLUMN release TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE transcripts ADD COLUMN unknown_types TEXT NOT NULL DEFAULT ''")
    db.execute(
        """UPDATE files SET hash = '', mtime_ns = 0
           WHERE path IN (SELECT path FROM transcripts WHERE unknown > 0 AND is_deleted = 0)"""
    )


def _add_work(db: Database) -> None:
    """Add the work of agents; `choose_work` has conversations read again for it."""
    db.execute(
        """CREATE TABLE work (
          id INTEGER PRIMARY KEY,
          session INTEGER NOT NULL,
          place INTEGER NOT NULL,
          time_ms INTEGER NOT NULL,
          action TEXT NOT NULL,
          status TEXT NOT NULL,
          exit_code INTEGER,
          digest INTEGER NOT NULL,
          folder TEXT NOT NULL,
          subject TEXT NOT NULL,
          line TEXT NOT NULL,
          error TEXT NOT NULL,
          text TEXT NOT NULL,
          detail TEXT NOT NULL
        ) STRICT;
        CREATE INDEX work_by_session ON work (session);
        CREATE INDEX work_by_command ON work (subject) WHERE action = 'ran';
        CREATE INDEX work_by_error ON work (error) WHERE error != '';
        CREATE INDEX work_by_file ON work (line) WHERE action != 'ran';

        CREATE TABLE work_sessions (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
        CREATE VIEW steps AS SELECT w.*, s.path FROM work AS w JOIN work_sessions AS s ON s.id = w.session;

        CREATE VIRTUAL TABLE work_fts USING fts5 (
          text, detail, extra,
          content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
        );"""
    )
    for column in ("commands", "files"):
        db.execute(f"ALTER TABLE transcripts ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    db.execute("INSERT INTO work_fts (work_fts, rank) VALUES ('rank', ?)", (WORK_RANK,))


def _add_origins(db: Database) -> None:
    """Add whose words the lines of files are, and hashes of what sessions read; everything is read again for it."""
    db.execute(
        """CREATE TABLE origins (
          path TEXT PRIMARY KEY,
          default_origin INTEGER NOT NULL,
          reasons TEXT NOT NULL,
          numbers BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE fetched (
          id INTEGER PRIMARY KEY,
          path TEXT NOT NULL,
          time_ms INTEGER NOT NULL,
          origin INTEGER NOT NULL,
          what TEXT NOT NULL,
          digest INTEGER NOT NULL,
          is_new INTEGER NOT NULL DEFAULT 1,
          hashes BLOB NOT NULL
        ) STRICT;
        CREATE INDEX fetched_by_path ON fetched (path);
        CREATE INDEX fetched_by_time ON fetched (time_ms);
        CREATE INDEX fetched_new ON fetched (time_ms) WHERE is_new;

        ALTER TABLE chunks ADD COLUMN origins INTEGER NOT NULL DEFAULT 2;
        UPDATE files SET hash = '', mtime_ns = 0
        WHERE path NOT IN (SELECT path FROM transcripts WHERE is_deleted = 1);"""
    )


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    _create,
    _add_transcripts,
    _add_refused_texts,
    _add_chunk_positions,
    _add_last_conversations,
    _add_conversations,
    _add_unknown_types,
    _add_work,
    _add_origins,
)
"""Migration n changes a file from `user_version` n to n + 1."""

VERSION = len(MIGRATIONS)
"""The `user_version` of a current file."""


def migrate(db: Database) -> None:
    """Migrate a file to the current version; call inside a transaction."""
    version = get_int(db, "PRAGMA user_version")
    if version == VERSION:
        return
    for apply in MIGRATIONS[version:]:
        apply(db)
    db.pragma("user_version", VERSION)
