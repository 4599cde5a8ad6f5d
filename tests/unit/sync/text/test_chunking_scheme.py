"""Which chunking scheme an agent's files get, and that it stays what it was."""

from __future__ import annotations

import pytest

from memd.settings.schema import Chunking
from memd.sync.text.file_rows import PASSAGES, choose_scheme
from memd.text.cut.chunking import chunk_text, cut_chunks

TEXT = "\n".join(["# Freezer", *(f"- entry {number} of the list of what is in it" for number in range(80))])
PATH = "memory/kitchen.md"


@pytest.mark.parametrize("remembered", [None, PASSAGES, "passages 0", "lines 400 80"])
def test_files_are_cut_into_passages_by_default(remembered: str | None) -> None:
    """Whatever the index was cut with before: another name means that files are cut anew."""
    scheme = choose_scheme(Chunking(), remembered)
    assert scheme.name == PASSAGES
    assert scheme.cut(TEXT, PATH, ()) == cut_chunks(TEXT, PATH)


@pytest.mark.parametrize("remembered", [None, PASSAGES, "openclaw 400 80", "lines 99 9"])
def test_sizes_of_the_settings_are_used(remembered: str | None) -> None:
    scheme = choose_scheme(Chunking(tokens=100, overlap=20, sizes_set=True), remembered)
    assert scheme.name == "lines 100 20"
    assert scheme.cut(TEXT, PATH, ()) == chunk_text(TEXT, 100, 20)


def test_an_adopted_index_keeps_its_scheme() -> None:
    scheme = choose_scheme(Chunking(), "openclaw 200 40")
    assert scheme.name == "openclaw 200 40"
    assert scheme.cut(TEXT, PATH, ()) == chunk_text(TEXT, 200, 40)


def test_schemes_of_one_name_cut_alike_and_of_other_sizes_differently() -> None:
    names: dict[str, list[tuple[int, str]]] = {}
    for tokens, overlap in ((50, 0), (50, 10), (100, 0), (50, 0)):
        scheme = choose_scheme(Chunking(tokens=tokens, overlap=overlap, sizes_set=True), None)
        chunks = [(chunk.start, chunk.text) for chunk in scheme.cut(TEXT, PATH, ())]
        assert names.setdefault(scheme.name, chunks) == chunks
    assert len(names) == len({str(chunks) for chunks in names.values()}) == 3


def test_only_passages_have_a_context() -> None:
    passages, lines = (choose_scheme(chunking, None) for chunking in (Chunking(), Chunking(sizes_set=True)))
    assert {chunk.context for chunk in lines.cut(TEXT, PATH, ())} == {""}
    assert all("kitchen" in chunk.context for chunk in passages.cut(TEXT, PATH, ()))
