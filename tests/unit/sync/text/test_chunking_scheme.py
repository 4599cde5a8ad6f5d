"""The choice of a chunking scheme, and its stability."""

from __future__ import annotations

import pytest

from memd.settings.schema import Chunking
from memd.sync.text.file_rows import DEFAULT_SCHEME, choose_scheme
from memd.text.cut.chunking import chunk_text, cut_chunks

TEXT = "\n".join(["# Freezer", *(f"- entry {number} of the list of what is in it" for number in range(80))])
PATH = "memory/kitchen.md"


@pytest.mark.parametrize("remembered", [None, DEFAULT_SCHEME, "passages 0", "lines 400 80"])
def test_default_scheme_is_used_without_configured_sizes(remembered: str | None) -> None:
    """Regardless of the index's earlier scheme: another name means that files are chunked again."""
    scheme = choose_scheme(Chunking(), remembered)
    assert scheme.name == DEFAULT_SCHEME
    assert scheme.cut(TEXT, PATH, ()) == cut_chunks(TEXT, PATH)


@pytest.mark.parametrize("remembered", [None, DEFAULT_SCHEME, "openclaw 400 80", "lines 99 9"])
def test_configured_sizes_are_used(remembered: str | None) -> None:
    scheme = choose_scheme(Chunking(tokens=100, overlap=20, sizes_set=True), remembered)
    assert scheme.name == "lines 100 20"
    assert scheme.cut(TEXT, PATH, ()) == chunk_text(TEXT, 100, 20)


def test_an_adopted_index_keeps_its_scheme() -> None:
    scheme = choose_scheme(Chunking(), "openclaw 200 40")
    assert scheme.name == "openclaw 200 40"
    assert scheme.cut(TEXT, PATH, ()) == chunk_text(TEXT, 200, 40)


def test_schemes_with_the_same_name_are_equal_and_other_sizes_differ() -> None:
    names: dict[str, list[tuple[int, str]]] = {}
    for tokens, overlap in ((50, 0), (50, 10), (100, 0), (50, 0)):
        scheme = choose_scheme(Chunking(tokens=tokens, overlap=overlap, sizes_set=True), None)
        chunks = [(chunk.start, chunk.text) for chunk in scheme.cut(TEXT, PATH, ())]
        assert names.setdefault(scheme.name, chunks) == chunks
    assert len(names) == len({str(chunks) for chunks in names.values()}) == 3


def test_only_the_default_scheme_adds_context() -> None:
    passages, lines = (choose_scheme(chunking, None) for chunking in (Chunking(), Chunking(sizes_set=True)))
    assert {chunk.context for chunk in lines.cut(TEXT, PATH, ())} == {""}
    assert all("kitchen" in chunk.context for chunk in passages.cut(TEXT, PATH, ()))
