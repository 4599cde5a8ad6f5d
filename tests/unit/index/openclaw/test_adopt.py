"""Adoption of an index that OpenClaw wrote, so that nothing is embedded twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import numpy as np
import pytest
import trio
from numpy.typing import NDArray

from memd.index import adopt
from memd.index.adopt import import_cache, read_openclaw_agent_cache, unit_vector
from memd.index.cache import active_space, count_missing
from memd.index.connection import IndexFile
from memd.index.database import transaction
from memd.index.files import load_files
from memd.index.keyword import find_keyword
from memd.index.vectors.scan import ScanSearch
from memd.system.sqlite import Database
from memd_client.errors import IndexIOError
from tests.support.indexes import (
    EXTENSION,
    find_inconsistencies,
    new_index,
    openclaw_index,
    unit,
    vectors_for,
)

TEXTS = ["walrus notes", "deadline on friday", "部署方案"]
ROWS = unit(np.random.default_rng(9).standard_normal((3, 16)))
NOW_MS = 1_767_225_600_000


def space_of(provider: str, model: str) -> str:
    """Return a space's id, as the daemon would compute it."""
    return f"{provider}/{model}"


def opened(path: Path) -> tuple[IndexFile, Database]:
    """Open and close an index as the daemon does; return it and a connection to inspect it."""

    async def body() -> IndexFile:
        index = await IndexFile.open(path, extension=EXTENSION, clock=lambda: NOW_MS, space_of=space_of)
        await index.close()
        return index

    index = trio.run(body)
    return index, new_index(index.path)


def test_text_and_vectors_of_openclaw_are_adopted(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(path, TEXTS, ROWS).close()
    index, db = opened(path)
    assert (index.adopted, index.quarantined) == (3, None)
    row = load_files(db)["MEMORY.md"]
    assert (row.hash, row.mtime_ns, row.size) == ("filehash", 0, 99)
    assert count_missing(db, "openai/embed-1") == 0
    active = active_space(db)
    assert active is not None
    assert (active.id, active.dims) == ("openai/embed-1", 16)
    assert len(find_keyword(db, '"walrus"', 5)) == 1
    assert len(find_keyword(db, '" 署 "', 5)) == 1
    ids = [key for key, _ in ScanSearch().nearest(db, "openai/embed-1", ROWS[1], 3)]
    assert np.allclose(vectors_for(db, "openai/embed-1", ids[:1])[1][0], ROWS[1], atol=1e-6)
    assert find_inconsistencies(db) == []
    db.close()
    assert sorted(os.listdir(tmp_path)) == ["main.memd.sqlite", "main.sqlite"]


def test_newest_vector_of_the_cache_is_adopted(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS, ROWS)
    newer, older = [1.0] + [0.0] * 15, [0.0, 1.0] + [0.0] * 14
    for key, numbers, at in (("k1", older, 1), ("k2", newer, 2)):
        db.execute(
            "INSERT INTO embedding_cache VALUES ('openai', 'embed-1', ?, 'h-gone', ?, 16, ?)",
            (key, json.dumps(numbers), at),
        )
    db.execute(
        "INSERT INTO embedding_cache VALUES ('gemini', 'other', 'k', 'h-other', ?, 3, 1)",
        (json.dumps([0, 3, 4]),),
    )
    db.close()
    index, db = opened(path)
    assert index.adopted == 5
    blob = db.execute("SELECT embedding FROM embedding_cache WHERE hash = 'h-gone'").get
    assert np.frombuffer(blob, "<f4")[0] == 1.0
    other = db.execute("SELECT provider_key, embedding FROM embedding_cache WHERE hash = 'h-other'").get
    assert other[0] == "gemini/other"
    assert np.allclose(np.frombuffer(other[1], "<f4"), [0, 0.6, 0.8])
    db.close()


@pytest.mark.parametrize(
    "value", ["", "[", "null", "[]", '["a"]', "[1, NaN]", "[0, 0]", "{}", "[1e999]", None, 7, b"abc", b""]
)
def test_malformed_vector_is_ignored(value: object) -> None:
    assert unit_vector(value) is None


def test_malformed_rows_are_skipped_and_the_rest_adopted(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS, ROWS)
    db.execute("UPDATE chunks SET embedding = 'oops' WHERE id = 'id1'")
    db.execute("UPDATE chunks SET embedding = '[1, 2]' WHERE id = 'id2'")
    db.close()
    index, db = opened(path)
    assert index.adopted == 1
    assert count_missing(db, "openai/embed-1") == 2
    assert db.execute("SELECT count(*) FROM chunks").get == 3
    db.close()


@pytest.mark.parametrize("meta", [None, "not json", "[1]", '{"model": 3}', "{}"])
def test_invalid_metadata_does_not_prevent_adoption(tmp_path: Path, meta: str | None) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS, ROWS)
    if meta is None:
        db.execute("DROP TABLE meta")
    else:
        db.execute("UPDATE meta SET value = ?", (meta,))
    db.close()
    index, db = opened(path)
    assert index.quarantined is None
    assert db.execute("SELECT count(*) FROM chunks").get == 3
    db.close()


def test_index_is_adopted_without_the_extension(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(path, TEXTS, ROWS, with_vec=False).close()
    assert opened(path)[0].adopted == 3


def test_file_with_a_line_that_openclaw_split_is_chunked_again(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS, ROWS)
    db.execute("UPDATE chunks SET text = 'first piece' || char(10) || 'second piece' WHERE id = 'id1'")
    db.close()
    _, db = opened(path)
    assert load_files(db)["MEMORY.md"].hash == ""
    db.close()


def test_log_of_openclaw_is_included(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    db = openclaw_index(path, TEXTS[:1], ROWS[:1])
    db.pragma("journal_mode", "wal")
    db.execute("INSERT INTO files VALUES ('memory/late.md', 'memory', 'h', 1, 1)")
    copies = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    db.close()
    for name, content in copies.items():
        (tmp_path / name).write_bytes(content)
    assert (tmp_path / "main.sqlite-wal").stat().st_size > 0
    _, db = opened(path)
    assert {name: (tmp_path / name).read_bytes() for name in copies} == copies
    assert set(load_files(db)) == {"MEMORY.md", "memory/late.md"}
    assert find_inconsistencies(db) == []
    db.close()


def test_failed_adoption_leaves_openclaws_file_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(path, TEXTS, ROWS).close()
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("memd.index.integrity.takeover.os.replace", fail)
        with pytest.raises(IndexIOError, match="No space left"):
            opened(path)
        patch.undo()
    assert path.read_bytes() == before
    index, db = opened(path)
    assert index.adopted == 3
    db.close()
    assert sorted(os.listdir(tmp_path)) == ["main.memd.sqlite", "main.sqlite"]
    assert path.read_bytes() == before


def test_damaged_openclaw_index_stays_and_an_empty_index_is_created(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    openclaw_index(
        path, [f"{number} " + "word " * 200 for number in range(100)], np.repeat(ROWS[:1], 100, 0)
    ).close()
    with path.open("r+b") as file:
        for page in range(3, path.stat().st_size // 4096, 2):
            file.seek(page * 4096)
            file.write(b"\xa5" * 300)
    before = path.read_bytes()
    index, db = opened(path)
    assert (index.quarantined, index.adopted, index.path) == (None, 0, tmp_path / "main.memd.sqlite")
    assert load_files(db) == {}
    db.close()
    assert path.read_bytes() == before


def agent_database(path: Path, rows: list[tuple[str, str, str, str, bytes]], version: int = 23) -> None:
    """Write an OpenClaw 2026.9 database with an embedding cache."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute(
        "CREATE TABLE memory_embedding_cache (provider TEXT, model TEXT, provider_key TEXT, hash TEXT,"
        " embedding BLOB, dims INTEGER, updated_at INTEGER, PRIMARY KEY (provider, model, provider_key, hash))"
    )
    db.executemany("INSERT INTO memory_embedding_cache VALUES (?, ?, ?, ?, ?, 2, 1)", rows)
    db.pragma("user_version", version)
    db.close()


def packed(vector: NDArray[np.float64]) -> bytes:
    """Return a vector as OpenClaw 2026.9 stores it."""
    return vector.astype("<f8").tobytes()


def test_cache_of_a_newer_openclaw_database_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    rows = [("openai", "m", f"k{n % 2}", f"h{n:05}", packed(np.array([3.0, 4.0]))) for n in range(2_500)]
    rows.append(("openai", "other-model", "k", "x", packed(np.array([1.0, 0.0]))))
    rows.append(("openai", "m", "k", "bad", b"odd"))
    agent_database(path, rows)
    before = path.read_bytes()
    problems: list[str] = []
    found = list(read_openclaw_agent_cache(path, "m", problems))
    assert (len(found), problems) == (2_500, [])
    assert {digest for _, _, digest, _ in found} == {f"h{n:05}" for n in range(2_500)}
    assert np.allclose(found[0][3], [0.6, 0.8])
    assert path.read_bytes() == before
    db = new_index()
    with transaction(db):
        wanted = {"h00001", "h00002"}
        assert import_cache(db, found, space_of, NOW_MS, keep=wanted.__contains__) == 2
        assert import_cache(db, found, space_of, NOW_MS, keep=wanted.__contains__) == 0


def test_unknown_schema_is_reported_as_a_problem(tmp_path: Path) -> None:
    problems: list[str] = []
    assert list(read_openclaw_agent_cache(tmp_path / "missing.sqlite", "m", problems)) == []
    assert problems == []
    plain = tmp_path / "plain.sqlite"
    apsw.Connection(str(plain)).execute("CREATE TABLE t (x)")
    assert list(read_openclaw_agent_cache(plain, "m", problems)) == []
    assert len(problems) == 2
    garbage = tmp_path / "garbage.sqlite"
    garbage.write_bytes(b"garbage" * 1_000)
    assert list(read_openclaw_agent_cache(garbage, "m", problems)) == []
    assert len(problems) == 3
    newer = tmp_path / "newer.sqlite"
    agent_database(newer, [("openai", "m", "k", "h", packed(np.array([1.0, 0.0])))], version=24)
    problems.clear()
    assert len(list(read_openclaw_agent_cache(newer, "m", problems))) == 1
    assert "schema 24" in problems[0]
    assert adopt.AGENT_SCHEMA == 23
