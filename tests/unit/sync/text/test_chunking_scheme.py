"""Which cut an agent's files get, and that it stays what it was."""

from __future__ import annotations

import pytest

from memd.settings.schema import Chunking
from memd.sync.text.chunking_scheme import PASSAGES, choose_cut
from memd.text.cut.chunking import chunk_text
from memd.text.cut.passages import cut_passages

TEXT = "\n".join(["# Freezer", *(f"- entry {number} of the list of what is in it" for number in range(80))])
PATH = "memory/kitchen.md"


@pytest.mark.parametrize("remembered", [None, PASSAGES, "passages 0", "lines 400 80"])
def test_files_are_cut_into_passages_where_nobody_said_otherwise(remembered: str | None) -> None:
    """Whatever the index was cut with before: another name means that files are cut anew."""
    cut = choose_cut(Chunking(), remembered)
    assert cut.name == PASSAGES
    assert cut.apply(TEXT, PATH) == cut_passages(TEXT, PATH)


@pytest.mark.parametrize("remembered", [None, PASSAGES, "openclaw 400 80", "lines 99 9"])
def test_sizes_of_the_user_are_the_users(remembered: str | None) -> None:
    cut = choose_cut(Chunking(tokens=100, overlap=20, sizes_set=True), remembered)
    assert cut.name == "lines 100 20"
    assert cut.apply(TEXT, PATH) == chunk_text(TEXT, 100, 20)


def test_what_came_with_vectors_stays_as_it_was_cut() -> None:
    cut = choose_cut(Chunking(), "openclaw 200 40")
    assert cut.name == "openclaw 200 40"
    assert cut.apply(TEXT, PATH) == chunk_text(TEXT, 200, 40)


def test_cuts_of_one_name_cut_alike_and_of_different_sizes_differently() -> None:
    names: dict[str, list[tuple[int, str]]] = {}
    for tokens, overlap in ((50, 0), (50, 10), (100, 0), (50, 0)):
        cut = choose_cut(Chunking(tokens=tokens, overlap=overlap, sizes_set=True), None)
        chunks = [(chunk.start, chunk.text) for chunk in cut.apply(TEXT, PATH)]
        assert names.setdefault(cut.name, chunks) == chunks
    assert len(names) == len({str(chunks) for chunks in names.values()}) == 3


def test_only_passages_know_where_they_stand() -> None:
    passages, lines = (choose_cut(chunking, None) for chunking in (Chunking(), Chunking(sizes_set=True)))
    assert {chunk.context for chunk in lines.apply(TEXT, PATH)} == {""}
    assert all("kitchen" in chunk.context for chunk in passages.apply(TEXT, PATH))
