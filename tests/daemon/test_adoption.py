"""Reuse of OpenClaw's embeddings: indexes of older releases, the cache of 2026.9."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from memd.text.cut.chunking import chunk_text
from tests.support.daemon import DaemonProcess
from tests.support.indexes import OPENCLAW_SCHEMA
from tests.support.models import minilm_path
from tests.support.state_homes import StateHome

pytestmark = pytest.mark.model

NOTES = {
    "MEMORY.md": "# Facts\n\nThe staging gateway listens on port 8443.\n",
    "memory/2026-01-05.md": "The invoice of the hosting company is due on Friday.\n",
}


@pytest.fixture
def home() -> Iterator[StateHome]:
    model = minilm_path()
    settings = {"provider": "local", "local": {"modelPath": str(model)}}
    with StateHome({"agents": {"defaults": {"memorySearch": settings}}}) as home:
        for path, text in NOTES.items():
            home.note(path, text)
        yield home


def vectors_of(home: StateHome) -> dict[str, np.ndarray]:
    """Return the vectors of all chunks as OpenClaw cuts them, by hash; delete the index."""
    settings = json.loads((home.state / "openclaw.json").read_text())
    as_openclaw = settings["agents"]["defaults"]["memorySearch"] | {
        "chunking": {"tokens": 400, "overlap": 80}
    }
    home.configure({"agents": {"defaults": {"memorySearch": as_openclaw}}})
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
    home.configure(settings)
    index = home.state / "memory" / "main.memd.sqlite"
    db = apsw.Connection(str(index))
    found = {
        str(digest): np.frombuffer(blob, "<f4")
        for digest, blob in db.execute("SELECT hash, embedding FROM embedding_cache")
    }
    db.close()
    index.unlink()
    return found


def write_old_index(home: StateHome, model: str, vectors: dict[str, np.ndarray]) -> None:
    """Write an index file as the older releases wrote it."""
    path = home.state / "memory" / "main.sqlite"
    db = apsw.Connection(str(path))
    db.execute(OPENCLAW_SCHEMA)
    meta = {"model": model, "provider": "local", "providerKey": "k", "chunkTokens": 400, "chunkOverlap": 80}
    db.execute("INSERT INTO meta VALUES ('memory_index_meta_v1', ?)", (json.dumps(meta),))
    for name, text in NOTES.items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        db.execute("INSERT INTO files VALUES (?, 'memory', ?, 1, ?)", (name, digest, len(text)))
        for chunk in chunk_text(text, 400, 80):
            embedding = json.dumps([float(value) for value in vectors[chunk.hash]])
            row = (f"{name}{chunk.start_line}", name, chunk.start_line, chunk.end_line, chunk.hash, model)
            db.execute(
                "INSERT INTO chunks VALUES (?,?,'memory',?,?,?,?,?,?,1)", (*row, chunk.text, embedding)
            )
    db.close()


def write_agent_database(path: Path, model: str, vectors: dict[str, np.ndarray]) -> None:
    """Write the tables of OpenClaw 2026.9's database that hold embeddings."""
    path.parent.mkdir(parents=True)
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute(
        """CREATE TABLE memory_embedding_cache (provider TEXT, model TEXT, provider_key TEXT, hash TEXT,
          embedding BLOB, dims INTEGER, updated_at INTEGER, PRIMARY KEY (provider, model, provider_key, hash))"""
    )
    for digest, vector in vectors.items():
        row = ("local", model, "k", digest, vector.astype("<f8").tobytes(), len(vector), 1)
        db.execute("INSERT INTO memory_embedding_cache VALUES (?,?,?,?,?,?,?)", row)
    db.execute("PRAGMA user_version = 23")
    db.close()


def test_vectors_of_an_older_openclaw_index_are_reused(home: StateHome) -> None:
    vectors = vectors_of(home)
    write_old_index(home, str(minilm_path()), vectors)
    theirs = home.state / "memory" / "main.sqlite"
    before = theirs.read_bytes()

    with DaemonProcess(home) as daemon, daemon.client() as client:
        reply = client.index().agents[0]

        # then
        assert (reply.files, reply.embedded, reply.reused) == (2, 0, 2)
        assert client.search("when must we pay the provider").hits[0].path == "memory/2026-01-05.md"
        assert client.search("gateway port").mode == "hybrid"
    assert theirs.read_bytes() == before, "it is OpenClaw's, which may still want it"


def test_memd_index_at_its_earlier_path_is_moved_with_its_vectors(home: StateHome) -> None:
    # given: an index at the path of earlier releases, which newer releases of OpenClaw fail on
    now, earlier = (home.state / "memory" / name for name in ("main.memd.sqlite", "main.sqlite"))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
    now.rename(earlier)
    # when
    with DaemonProcess(home) as daemon, daemon.client() as client:
        reply = client.index().agents[0]
        # then
        assert (reply.files, reply.embedded) == (2, 0)
        assert client.search("gateway port").mode == "hybrid"
    assert now.exists()
    assert not earlier.exists()


def test_file_of_another_program_at_the_earlier_path_is_unchanged(home: StateHome) -> None:
    # given
    theirs = home.state / "memory" / "main.sqlite"
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_bytes(b"no database at all" * 100)
    # when
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert client.index().agents[0].files == 2
    # then
    assert theirs.read_bytes() == b"no database at all" * 100


def test_embedding_cache_of_openclaw_is_reused_and_its_database_unchanged(home: StateHome) -> None:
    vectors = vectors_of(home)
    database = home.state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    write_agent_database(database, str(minilm_path()), vectors)
    before = database.read_bytes()

    with DaemonProcess(home) as daemon, daemon.client() as client:
        reply = client.index().agents[0]

        assert (reply.files, reply.embedded) == (2, 0)
        assert client.search("gateway port").mode == "hybrid"
    assert database.read_bytes() == before


def test_openclaw_database_of_an_unknown_schema_is_reported_and_notes_are_indexed(home: StateHome) -> None:
    database = home.state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    database.parent.mkdir(parents=True)
    db = apsw.Connection(str(database))
    db.execute("CREATE TABLE something_else (x); PRAGMA user_version = 99")
    db.close()

    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        codes = [problem.code for problem in client.status().agents[0].problems]
        assert "openclaw_database" in codes
        assert client.search("gateway port").hits
