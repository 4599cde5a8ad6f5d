"""Properties of every search, for any query and any notes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch
from memd.index.vectors.vector_search import VectorSearch
from memd.search.query import MAX_ROOMY_RESULTS
from memd.settings.schema import Fusion, Hybrid, Mmr, QuerySettings, TemporalDecay
from memd.system.sqlite import Database
from memd_client.messages import Hit
from tests.support.indexes import (
    LoadingMatrix,
    is_exact,
    new_cache,
    new_index,
    publish_folder,
    publish_note,
    search,
    search_spec,
    store_chunks,
    unit,
)
from tests.support.retrieval import SETS, load_queries, serve_set

Memory = tuple[Database, dict[str, str], NDArray[np.float32]]
"""An index, the texts of its notes by path, and a query's vector."""

FuzzedIndex = tuple[Database, dict[str, str], VectorSearch]
"""An index, the texts of its notes by path, and the search of its vectors."""

MAX_COMPARED_RESULTS = MAX_ROOMY_RESULTS
"""Longest list that is compared with the previous one: the snippets of longer ones are shorter."""

SAMPLE = 75
"""Queries of each of two sets."""

LONGEST_SNIPPET = 700
DIMS = 6

WORDS = ("deploy", "release", "key", "cat", "Anna", "部署", "ключ", "POL-358", "v1.2.3", "Schlüssel")
"""Few words, so that random notes contain them equally often: equal scores make lists unstable."""

PATHS = ("MEMORY.md", "memory/2026-11-19.md", "memory/2026-05-08-sync.md", "memory/a.md", "notes/b.md")

# --- the first k of k + 1 results are the k results --------------------------------------------------


@pytest.mark.parametrize("name", ["technical", pytest.param("multilingual", marks=pytest.mark.long)])
def test_a_longer_list_starts_with_the_shorter_one(name: str) -> None:
    search_spec = random.Random(5).sample(load_queries(name), SAMPLE)
    changed = []
    with serve_set(name, {"provider": "none"}) as client:
        for each in search_spec:
            before: list[tuple[str, int, int]] = []
            for wanted in range(1, MAX_COMPARED_RESULTS + 1):
                now = places(client.search(each.query, max_results=wanted).hits)
                if now[: wanted - 1] != before:
                    changed.append((each.id, wanted, before, now))
                before = now
    assert not changed


def places(hits: list[Hit]) -> list[tuple[str, int, int]]:
    """Return the locations of hits."""
    return [(hit.path, hit.start_line, hit.end_line) for hit in hits]


LEAST = st.sampled_from((None, 0.0, 0.0, 0.3))
"""Requested minimum scores: the default, 0, and a higher one."""


@st.composite
def notes(draw: st.DrawFn) -> dict[str, str]:
    """Draw notes of often repeated lines under headings, of a few words each."""
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
    repeated = " ".join(WORDS[:6]) + " is kept in the second drawer of the desk beside the window since May"
    line = words | words.map(lambda said: f"## {said}") | st.just("") | st.just(repeated)
    line |= words.map(lambda said: f"- {said}: " + "and so on " * 20)
    lines = draw(st.lists(st.lists(line, min_size=1, max_size=16), min_size=1, max_size=len(PATHS)))
    return dict(zip(PATHS, map("\n".join, lines), strict=False))


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query of words, names, quotes, a misspelled word or a day."""
    said = draw(st.lists(st.sampled_from((*WORDS, "relaese", "zebra")), min_size=1, max_size=4))
    return " ".join([*said, draw(st.sampled_from(("", "", "yesterday", "on May 8", '"cat key"')))]).strip()


def vectors(draw: st.DrawFn, count: int) -> NDArray[np.float32]:
    """Draw unit vectors, many equal and some nearly equal."""
    base = np.random.default_rng(draw(st.integers(0, 9))).standard_normal((4, DIMS))
    chosen = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    moved = draw(st.lists(st.sampled_from((0.0, 0.0, 1e-7, 0.3)), min_size=count, max_size=count))
    tilt = np.eye(DIMS)[np.arange(count) % DIMS]
    return unit(base[chosen] + np.array(moved)[:, None] * tilt)


@st.composite
def ranking_settings(draw: st.DrawFn) -> QuerySettings:
    """Draw ranking settings: every fusion, with and without diversity and decay."""
    fusion: Fusion = draw(st.sampled_from(("normalized", "weighted", "rrf")))
    mmr = Mmr(enabled=draw(st.booleans()))
    decay = TemporalDecay(enabled=draw(st.booleans()))
    return QuerySettings(hybrid=Hybrid(fusion=fusion, mmr=mmr, temporal_decay=decay))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Draw an index with vectors, its texts, and a query's vector."""
    texts = draw(notes())
    db = new_index()
    chunks = [each for path, text in texts.items() for each in publish_note(db, path, text)]
    if chunks:
        store_chunks(db, chunks, vectors(draw, len(chunks)))
    return db, texts, vectors(draw, 1)[0]


@settings(deadline=None)
@given(memory=memories(), query=queries(), wish=ranking_settings(), least=LEAST)
def test_a_longer_list_starts_with_the_shorter_one_with_vectors(
    memory: Memory, query: str, wish: QuerySettings, least: float | None
) -> None:
    db, texts, vector = memory
    before: list[tuple[str, int, int]] = []
    for wanted in range(1, MAX_COMPARED_RESULTS + 1):
        asking = search_spec(query, wish, vector=vector, max_results=wanted, min_score=least)
        hits = search(db, asking, ScanSearch()).hits
        assert places(hits)[: wanted - 1] == before
        assert all(is_exact(hit, texts) for hit in hits)
        before = places(hits)
    db.close()


# --- the three vector search paths --------------------------------------------------------------------


@settings(deadline=None)
@given(memory=memories(), query=queries(), wish=ranking_settings(), least=LEAST, wanted=st.integers(1, 12))
def test_all_vector_search_paths_return_the_same_hits_in_the_same_order(
    memory: Memory, query: str, wish: QuerySettings, least: float | None, wanted: int
) -> None:
    db, _, vector = memory
    asking = search_spec(query, wish, vector=vector, max_results=wanted, min_score=least, explain=True)
    found = [search(db, asking, path) for path in (ScanSearch(), SqliteVecSearch(), LoadingMatrix())]
    assert found[0].hits == found[1].hits == found[2].hits
    assert len({(each.mode, each.abstained, each.line_check) for each in found}) == 1
    db.close()


# --- lines with all terms are always found ---------------------------------------------------------------


@settings(deadline=None)
@given(memory=memories(), data=st.data(), model=st.sampled_from(("minilm", "embed-3", "")))
def test_a_query_with_the_words_of_a_line_has_hits(memory: Memory, data: st.DataObject, model: str) -> None:
    """The default minimum score empties no list, however distant all vectors are."""
    db, texts, vector = memory
    lines = [line for text in texts.values() for line in text.split("\n") if line.strip("# ")]
    if lines:
        query = data.draw(st.sampled_from(lines)).strip("#- ")
        wanted = search_spec(query, vector=vector if model else None, model=model)
        found = search(db, wanted, ScanSearch() if model else None)
        assert found.hits
        assert found.line_check is None
    db.close()


# --- fuzzed queries -------------------------------------------------------------------------------------------

SYNTAX = (
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    ")",
    "(",
    '"',
    "'",
    "`",
    "*",
    "^",
    "+",
    "-",
    ":",
    "{",
    "}",
    "text:",
    ",",
)
SIGNS = (
    "\0",
    "\ud800",
    "\udfff",
    "\x01",
    "\x1b[31m",
    "\x7f",
    "\u200d",
    "\u202e",
    "\ufeff",
    "\ufffe",
    "\n",
    "\r",
)
OTHERS = (
    "🙂",
    "👩‍👩‍👧",
    "ﬀ",
    "İ",
    "ß",
    "Ⅷ",
    "①",
    "ｆｕｌｌ",
    "가나다",
    "ไทย",
    "العربية",
    "हिन्दी",
    "日本語",
    "𠮷",
)
QUOTES = ('"{}"', "“{}”", "„{}“", "«{}»", "「{}」", "`{}`", "'{}'", "{}()", "#{}", "../{}", "--{}", "{}++")


def fuzzed_queries(seed: int, count: int) -> Iterator[str]:
    """Yield fuzzed queries: mutated real ones, syntax, signs, noise, and mixes of these."""
    rng = random.Random(seed)
    real = [each.query for name in ("multilingual", "technical") for each in load_queries(name)]
    for _ in range(count):
        kind = rng.randrange(8)
        if kind == 0:
            yield "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(1, 60)))
        elif kind == 1:
            yield "".join(chr(rng.randrange(0x3000)) for _ in range(rng.randrange(1, 120)))
        elif kind == 2:
            pieces = [rng.choice((*SYNTAX, *SIGNS, *OTHERS, *WORDS)) for _ in range(rng.randrange(1, 20))]
            yield rng.choice(("", " ")).join(pieces)
        elif kind == 3:
            yield rng.choice(QUOTES).format(rng.choice(real)) + rng.choice((*SIGNS, *SYNTAX))
        elif kind == 4 and rng.randrange(40) == 0:
            yield rng.choice(
                (rng.choice(real) + " ", rng.choice(OTHERS), '"', "a" * 9, "-1.")
            ) * rng.randrange(900)
        else:
            yield mutated(rng, rng.choice(real))


def mutated(rng: random.Random, query: str) -> str:
    """Return a query with a few letters lost, doubled, swapped or replaced by unusual ones."""
    letters = list(query)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(letters)) if letters else 0
        letters[at : at + rng.randrange(3)] = rng.choice(
            ("", letters[at] * 2 if letters else "", " ", *SYNTAX, *SIGNS, *OTHERS)
        )
    return "".join(letters)


@pytest.fixture(scope="module")
def multilingual() -> Iterator[FuzzedIndex]:
    """Return an index of the multilingual notes, each chunk with a random vector."""
    folder: Path = SETS / "multilingual" / "workspace"
    db = new_index()
    texts, chunks = publish_folder(db, folder)
    rng = np.random.default_rng(11)
    store_chunks(db, chunks, unit(rng.standard_normal((len(chunks), DIMS))))
    yield db, texts, LoadingMatrix()
    db.close()


def search_fuzzed(index: FuzzedIndex, seed: int, count: int) -> int:
    """Search fuzzed queries, every second one with a vector, and return the number of hits.

    A failure reports the query as Python spells it.
    """
    db, texts, path = index
    rng = np.random.default_rng(seed)
    cache = new_cache()
    several = 0
    for number, query in enumerate(fuzzed_queries(seed, count)):
        vector = unit(rng.standard_normal((1, DIMS)))[0] if number % 2 else None
        least = 0.0 if number % 3 == 0 else None
        why = number % 5 == 0
        wanted = search_spec(query, vector=vector, min_score=least, explain=why)
        try:
            hits = search(db, wanted, path, cache=cache).hits
        except Exception as error:
            raise AssertionError(f"query {number} of {seed}: {query!r}") from error
        several += len(hits)
        wrong = [hit for hit in hits if len(hit.snippet) > LONGEST_SNIPPET or not is_exact(hit, texts)]
        assert not wrong, f"query {number} of {seed}: {query!r}: {wrong}"
    return several


def test_fuzzed_queries_cause_no_error(multilingual: FuzzedIndex) -> None:
    """500 queries return exact slices or nothing, and never an error."""
    assert search_fuzzed(multilingual, 1, 500) > 500


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 42))
def test_a_hundred_thousand_fuzzed_queries_cause_no_error(multilingual: FuzzedIndex, seed: int) -> None:
    assert search_fuzzed(multilingual, seed, 2_500) > 2_500
