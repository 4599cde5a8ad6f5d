-- The tables of the first release, which migrations in schema.py change.
--
-- The long column is last in its row, so that the others are read without it. Vector ids are never reused
-- (AUTOINCREMENT), because the matrix in RAM and `chunks_vec` find missing vectors by id alone.

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
