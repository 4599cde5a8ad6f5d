"""Reuse of the vectors that OpenClaw stored, so that the same text is not embedded twice."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.adopt import import_vectors, load_stored_vectors, unit_vector
from memd.index.cache import SpaceKey, active_space, count_missing, vectors_of_texts
from memd.index.database import transaction
from memd.index.meta import find_chunking_scheme
from memd.settings.schema import Chunking
from memd.system.sqlite import ForeignDatabaseError
from tests.support.indexes import (
    find_inconsistencies,
    hash_of,
    new_index,
    openclaw_index,
    publish,
    unit,
)

TEXTS = ["walrus notes", "deadline on friday", "部署方案"]
ROWS = unit(np.random.default_rng(9).standard_normal((3, 16)))
SPACE = SpaceKey("openai", "embed-1", "openai/embed-1")
NOW_MS = 1_767_225_600_000


@pytest.mark.parametrize("with_vec", [True, False])
def test_vectors_of_an_openclaw_index_are_reused_for_the_same_text(tmp_path: Path, with_vec: bool) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(path, TEXTS, ROWS, with_vec=with_vec).close()
    before = path.read_bytes()

    vectors = load_stored_vectors(path, "openai", ["embed-1", "other"])

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["main.sqlite"]
    assert vectors.keys() == {hash_of(text) for text in TEXTS}
    db = new_index()
    publish(db, "MEMORY.md", [*TEXTS[1:], "a new line"])
    with transaction(db):
        assert import_vectors(SPACE, vectors, Chunking(), NOW_MS, db) == 3
    assert count_missing(db, SPACE.id) == 1
    stored = vectors_of_texts(db, SPACE.id, [hash_of(TEXTS[1])])
    assert np.allclose(stored[hash_of(TEXTS[1])], ROWS[1], atol=1e-6)
    assert find_chunking_scheme(db) == "openclaw 400 80"
    active = active_space(db)
    assert active is not None
    assert (active.id, active.dims) == (SPACE.id, 16)
    assert find_inconsistencies(db) == []


def test_vectors_of_another_model_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(path, TEXTS, ROWS).close()

    assert load_stored_vectors(path, "openai", ["embed-2"]) == {}


@pytest.mark.parametrize(
    "value", ["", "[", "null", "[]", '["a"]', "[1, NaN]", "[0, 0]", "{}", "[1e999]", None, 7, b"abc", b""]
)
def test_malformed_vector_is_ignored(value: object) -> None:
    assert unit_vector(value) is None


def test_malformed_rows_are_skipped_and_the_rest_adopted(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS, ROWS)
    db.execute("UPDATE chunks SET embedding = 'oops' WHERE id = 'id1'")
    db.execute("UPDATE chunks SET embedding = '[1, 2]' WHERE id = 'id3'")
    db.close()

    vectors = load_stored_vectors(path, "openai", ["embed-1"])
    index = new_index()
    with transaction(index):
        assert import_vectors(SPACE, vectors, Chunking(), NOW_MS, index) == 1


def test_damaged_openclaw_index_is_an_error_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(
        path, [f"{number} " + "word " * 200 for number in range(100)], np.repeat(ROWS[:1], 100, 0)
    ).close()
    with path.open("r+b") as file:
        for page in range(3, path.stat().st_size // 4096, 2):
            file.seek(page * 4096)
            file.write(b"\xa5" * 300)
    before = path.read_bytes()

    with pytest.raises(ForeignDatabaseError, match="damaged"):
        load_stored_vectors(path, "openai", ["embed-1"])
    assert path.read_bytes() == before


def agent_database(path: Path, rows: list[tuple[str, str, str, str, bytes]]) -> None:
    """Write an OpenClaw 2026.9 database with an embedding cache."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute(
        "CREATE TABLE memory_embedding_cache (provider TEXT, model TEXT, provider_key TEXT, hash TEXT,"
        " embedding BLOB, dims INTEGER, updated_at INTEGER, PRIMARY KEY (provider, model, provider_key, hash))"
    )
    db.executemany("INSERT INTO memory_embedding_cache VALUES (?, ?, ?, ?, ?, 2, 1)", rows)
    db.pragma("user_version", 23)
    db.close()


def packed(vector: NDArray[np.float64]) -> bytes:
    """Return a vector as OpenClaw 2026.9 stores it."""
    return vector.astype("<f8").tobytes()


def test_cache_of_a_newer_openclaw_database_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    rows = [("openai", "m", f"k{n % 2}", f"h{n:05}", packed(np.array([3.0, 4.0]))) for n in range(2_500)]
    rows.append(("openai", "other-model", "k", "x", packed(np.array([1.0, 0.0]))))
    rows.append(("gemini", "m", "k", "y", packed(np.array([1.0, 0.0]))))
    rows.append(("openai", "m", "k", "bad", b"odd"))
    agent_database(path, rows)
    before = path.read_bytes()

    vectors = load_stored_vectors(path, "openai", ["m"])

    assert vectors.keys() == {f"h{n:05}" for n in range(2_500)}
    assert np.allclose(vectors["h00000"], [0.6, 0.8])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["openclaw-agent.sqlite"]


def test_missing_file_and_an_index_of_memd_have_no_vectors_of_openclaw(tmp_path: Path) -> None:
    new_index(tmp_path / "own.sqlite").close()

    assert load_stored_vectors(tmp_path / "missing.sqlite", "openai", ["m"]) == {}
    assert load_stored_vectors(tmp_path / "own.sqlite", "openai", ["m"]) == {}


def test_database_of_another_schema_and_a_text_are_errors(tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / "plain.sqlite")).execute("CREATE TABLE t (x)")
    (tmp_path / "garbage.sqlite").write_bytes(b"garbage" * 1_000)

    with pytest.raises(ForeignDatabaseError, match="another schema"):
        load_stored_vectors(tmp_path / "plain.sqlite", "openai", ["m"])
    with pytest.raises(ForeignDatabaseError, match="damaged"):
        load_stored_vectors(tmp_path / "garbage.sqlite", "openai", ["m"])
