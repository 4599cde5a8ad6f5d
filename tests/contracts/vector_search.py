"""The contract of every vector search. Subclass it with `make` for each implementation.

The expected result is computed here over all rows in float64: the implementations agree because each equals it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memd.index.files import chunks_by_id, chunks_of_vectors
from memd.index.keyword import Scope
from memd.index.vectors.vector_search import DIGITS, VectorSearch
from memd.system.sqlite import Database
from memd_client.errors import DimensionsChangedError
from tests.support.indexes import SPACE, activate, new_index, publish, store, unit

Row = tuple[str, str, list[float]]
"""(path, source, vector)."""

FOLDERS = ("memory/a/", "memory/b/", "notes/")
SOURCES = ("memory", "sessions")


class VectorSearchContract:
    """The contract of `VectorSearch`."""

    extension = True

    def make(self) -> VectorSearch:
        """Return the vector search under test."""
        raise NotImplementedError

    def test_name_is_one_of_the_three(self) -> None:
        assert self.make().name in ("memory", "sqlite-vec", "scan")

    # The same test runs in several subclasses on purpose.
    @settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(data=st.data())
    def test_ids_and_order_equal_an_exact_search(self, data: st.DataObject) -> None:
        dims = data.draw(st.integers(1, 6), "dims")
        rows = data.draw(_rows(dims), "rows")
        query = np.asarray(data.draw(_vector(dims), "query"), dtype=np.float32)
        limit = data.draw(st.integers(1, 70), "limit")
        scope = data.draw(_scopes(), "scope")
        db = filled(rows, dims, extension=self.extension)
        assume(all(map(rounds_alike, exact_cosines(db, query, None).values())))
        found = self.make().nearest(db, SPACE.id, query, limit, scope)
        assert found == exact_answer(db, query, limit, scope)
        db.close()

    def test_thousands_of_equal_vectors_are_ordered_by_id(self) -> None:
        rng = np.random.default_rng(3)
        base = unit(rng.standard_normal((3, 16)))
        matrix = np.repeat(base, [2_000, 1_500, 50], axis=0)
        db = filled_fast(matrix, lambda _: ("memory/x.md", "memory"), extension=self.extension)
        for limit in (1, 7, 200, 2_000, 2_001):
            found = self.make().nearest(db, SPACE.id, base[1], limit)
            assert found == exact_answer(db, base[1], limit, None)

    def test_nearly_equal_vectors_are_distinguished(self) -> None:
        rng = np.random.default_rng(4)
        centre = unit(rng.standard_normal((1, 384)))
        matrix = unit(centre + 1e-7 * rng.standard_normal((1_200, 384)))
        db = filled_fast(matrix, lambda _: ("memory/x.md", "memory"), extension=self.extension)
        for limit in (1, 50, 200):
            assert self.make().nearest(db, SPACE.id, centre[0], limit) == exact_answer(
                db, centre[0], limit, None
            )

    def test_nearer_vectors_outside_the_scope_change_nothing(self) -> None:
        rng = np.random.default_rng(5)
        query = unit(rng.standard_normal((1, 32)))
        near = unit(query + 0.01 * rng.standard_normal((5_000, 32)))
        far = unit(rng.standard_normal((40, 32)))
        matrix = np.concatenate([near, far])
        db = filled_fast(
            matrix,
            lambda at: ("memory/near.md", "memory") if at < 5_000 else ("sessions/far.md", "sessions"),
            extension=self.extension,
        )
        for scope in (Scope(("sessions",)), Scope(None, "sessions/"), Scope(("sessions",), "sess")):
            found = self.make().nearest(db, SPACE.id, query[0], 10, scope)
            assert len(found) == 10
            assert found == exact_answer(db, query[0], 10, scope)

    def test_wide_scope_is_exact_for_any_vectors(self) -> None:
        rng = np.random.default_rng(11)
        query = unit(rng.standard_normal((1, 16)))
        matrix = unit(
            np.concatenate([query + 0.1 * rng.standard_normal((700, 16)), rng.standard_normal((700, 16))])
        )
        for inside in (range(0, 1_400, 2), range(700), range(700, 1_400)):
            places = ["memory/a.md" if at in inside else "notes/b.md" for at in range(1_400)]
            db = filled_fast(
                matrix,
                lambda at, places=places: (places[at], "memory"),  # type: ignore[misc]
                extension=self.extension,
            )
            for limit in (1, 50, 699, 701):
                found = self.make().nearest(db, SPACE.id, query[0], limit, Scope(None, "memory/"))
                assert found == exact_answer(db, query[0], limit, Scope(None, "memory/"))

    def test_limit_beyond_the_vectors_returns_all(self) -> None:
        db = filled([("memory/a.md", "memory", [1.0, 0.0]), ("memory/b.md", "memory", [0.0, 1.0])], 2)
        found = self.make().nearest(db, SPACE.id, np.array([1, 0], np.float32), 100_000)
        assert [score for _, score in found] == [1.0, 0.0]

    def test_limit_above_four_thousand_is_supported(self) -> None:
        matrix = unit(np.random.default_rng(6).standard_normal((4_500, 8)))
        db = filled_fast(matrix, lambda _: ("memory/x.md", "memory"), extension=self.extension)
        found = self.make().nearest(db, SPACE.id, matrix[0], 4_400)
        assert found == exact_answer(db, matrix[0], 4_400, None)

    def test_empty_index_has_no_results(self) -> None:
        db = new_index(extension=self.extension)
        assert self.make().nearest(db, SPACE.id, np.array([1, 0], np.float32), 5) == []
        activate(db, 2)
        assert self.make().nearest(db, SPACE.id, np.array([1, 0], np.float32), 5) == []

    @pytest.mark.parametrize("query", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
    def test_zero_query_finds_nothing(self, query: list[float]) -> None:
        db = filled([("memory/a.md", "memory", [1.0, 0.0])], 2, extension=self.extension)
        assert self.make().nearest(db, SPACE.id, np.array(query, np.float32), 5) == []

    def test_a_query_of_any_length_gives_cosines(self) -> None:
        db = filled([("memory/a.md", "memory", [0.6, 0.8])], 2, extension=self.extension)
        long = self.make().nearest(db, SPACE.id, np.array([60, 80], np.float32), 5)
        assert long[0][1] == pytest.approx(1.0, abs=1e-6)

    def test_a_query_of_other_dimensions_is_refused(self) -> None:
        db = filled([("memory/a.md", "memory", [0.6, 0.8])], 2, extension=self.extension)
        with pytest.raises(DimensionsChangedError, match=r"3 dimensions.*have 2"):
            self.make().nearest(db, SPACE.id, np.array([1, 0, 0], np.float32), 5)

    def test_a_space_without_vectors_finds_nothing(self) -> None:
        db = filled([("memory/a.md", "memory", [0.6, 0.8])], 2, extension=self.extension)
        assert self.make().nearest(db, "another-space", np.array([1, 0], np.float32), 5) == []

    def test_unused_vectors_are_not_found(self) -> None:
        db = filled([("memory/a.md", "memory", [1.0, 0.0])], 2, extension=self.extension)
        publish(db, "memory/a.md0.md", [])
        assert self.make().nearest(db, SPACE.id, np.array([1, 0], np.float32), 5) == []

    def test_vector_of_a_text_with_copies_is_found_once(self) -> None:
        db = new_index(extension=self.extension)
        for number in range(3):
            publish(db, f"memory/{number}.md", ["the same text"])
        store(db, ["the same text"], unit([[1.0, 0.0]]))
        found = self.make().nearest(db, SPACE.id, np.array([1, 0], np.float32), 5)
        assert len(found) == 1
        [(vector_id, _)] = found
        for first, scope in (("0", None), ("2", Scope(None, "memory/2"))):
            [(told, chunk_id)] = chunks_of_vectors(db, SPACE.id, [vector_id], scope)
            [row] = chunks_by_id(db, [chunk_id])
            assert (told, row.path) == (vector_id, f"memory/{first}.md")
        assert chunks_of_vectors(db, SPACE.id, [vector_id], Scope(None, "notes/")) == []
        assert chunks_of_vectors(db, "another-space", [vector_id]) == []


def filled(rows: Sequence[Row], dims: int, *, extension: bool = True) -> Database:
    """Return an index with one chunk per row."""
    matrix = unit([vector for _, _, vector in rows]) if rows else np.empty((0, dims), np.float32)
    return filled_fast(matrix, lambda at: (f"{rows[at][0]}{at}.md", rows[at][1]), extension=extension)


def filled_fast(
    matrix: NDArray[np.float32], place_of: Callable[[int], tuple[str, str]], *, extension: bool = True
) -> Database:
    """Return an index with one chunk per vector; `place_of(row)` is its (path, source)."""
    db = new_index(extension=extension)
    places: dict[tuple[str, str], list[str]] = {}
    texts = [f"text {at}" for at in range(len(matrix))]
    for at, text in enumerate(texts):
        places.setdefault(place_of(at), []).append(text)
    for (path, source), lines in places.items():
        publish(db, path, lines, source)
    if texts:
        store(db, texts, matrix)
        activate(db, matrix.shape[1])
    return db


def exact_answer(
    db: Database, query: NDArray[np.float32], limit: int, scope: Scope | None
) -> list[tuple[int, float]]:
    """Return the expected result, computed over all rows."""
    scores = {key: round(cosine, DIGITS) for key, cosine in exact_cosines(db, query, scope).items()}
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def rounds_alike(cosine: float) -> bool:
    """Return whether a cosine rounds to the same digits for any order of summing."""
    return abs(math.modf(abs(cosine) * 10**DIGITS)[0] - 0.5) > 0.005


def exact_cosines(db: Database, query: NDArray[np.float32], scope: Scope | None) -> dict[int, float]:
    """Return the cosine of every vector in scope, by its id."""
    direction = np.asarray(query, np.float64)
    if not np.isfinite(direction).all() or not direction.any():
        return {}
    direction = direction / np.linalg.norm(direction)
    sources = scope.sources if scope is not None else None
    prefix = (scope.path_prefix if scope is not None else None) or ""
    scores: dict[int, float] = {}
    for key, blob, path, source in db.execute(
        "SELECT e.id, e.embedding, c.path, c.source FROM embedding_cache e JOIN chunks c USING (hash)"
    ):
        if path.startswith(prefix) and (sources is None or source in sources):
            row = np.frombuffer(blob, "<f4").astype(np.float64)
            scores[key] = float(np.add.reduce(row * direction))
    return scores


def _vector(dims: int) -> st.SearchStrategy[list[float]]:
    """Vectors from a small pool, so that equal and opposite ones are common; never zero."""
    pool = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 1.0000001, 0.9999999])
    return st.lists(pool, min_size=dims, max_size=dims).filter(any)


def _rows(dims: int) -> st.SearchStrategy[list[Row]]:
    """Rows in a few folders and sources."""
    return st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(SOURCES), _vector(dims)), max_size=60)


def _scopes() -> st.SearchStrategy[Scope | None]:
    """Every kind of scope, including those that match nothing."""
    sources = st.sampled_from([None, ("memory",), ("sessions",), ("memory", "sessions"), ()])
    prefixes = st.sampled_from([None, "", "memory/", "memory/a/", "memory/b/1", "nowhere/"])
    return st.none() | st.builds(Scope, sources, prefixes)
