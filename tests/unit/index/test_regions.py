"""The text around a chunk, joined from chunks, equals the file."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.index.files import ChunkRow, chunks_by_id
from memd.index.regions import load_regions
from memd.system.sqlite import Database
from memd.text.cut.chunking import Chunk, chunk_text, cut_chunks
from memd.text.cut.windows import Region
from tests.support.indexes import chunk_ids, new_index, publish, publish_note

PATH = "memory/a.md"
CUTS = [cut_chunks, lambda text, _: chunk_text(text, 20, 5), lambda text, _: chunk_text(text, 20, 0)]


def row_of(db: Database, text: str) -> ChunkRow:
    """Return the chunk with a text."""
    return chunks_by_id(db, [chunk_ids(db)[text]])[0]


def region_of(db: Database, row: ChunkRow, text: str, reach: int) -> Region | None:
    """Return the region around one chunk."""
    return load_regions(db, [(row, text)], reach).get(row.id)


LINES = st.one_of(
    st.sampled_from(("", "", "# Title", "## Part", "   ", "```", "- an entry", "\t")),
    st.text("ab .部🙂é", max_size=40),
    st.integers(1, 900).map(lambda size: "long and so on " * (size // 15)),
)


@pytest.mark.parametrize("cut", CUTS, ids=["passages", "overlapping", "side by side"])
@settings(deadline=None, max_examples=60)
@given(lines=st.lists(LINES, min_size=1, max_size=30), reach=st.sampled_from((0, 5, 100, 700, 5000)))
def test_a_region_is_an_exact_slice_of_its_file(
    cut: Callable[[str, str], list[Chunk]], lines: list[str], reach: int
) -> None:
    text = "\n".join(lines)
    db = new_index(extension=False)
    chunks = publish_note(db, PATH, text, cut=cut)
    texts = {int(key): str(body) for key, body in db.execute("SELECT id, text FROM chunks")}
    assert len(texts) == len(chunks)
    for row in chunks_by_id(db, list(texts)):
        region = region_of(db, row, texts[row.id], reach)
        if region is None:
            assert row.start_char == row.end_char
            continue
        assert region.text == text[region.start : region.start + len(region.text)]
        assert region.line == text.count("\n", 0, region.start) + 1
        assert region.start <= row.start_char
        assert region.start + len(region.text) >= row.end_char
    db.close()


def test_region_extends_only_to_the_requested_reach() -> None:
    text = "\n".join(f"- entry {number} of a long list of things" for number in range(500))
    db = new_index(extension=False)
    chunks = publish_note(db, PATH, text)
    middle = chunks[len(chunks) // 2]

    region = region_of(db, row_of(db, middle.text), middle.text, 700)

    assert region is not None
    assert 700 <= middle.start - region.start <= 700 * 2
    assert 700 <= region.start + len(region.text) - middle.start - len(middle.text) < 700 * 3


def test_adjacent_chunks_form_one_region_with_line_ends() -> None:
    db = new_index(extension=False)
    text = "\n".join(f"entry {number} of a list of things to do" for number in range(12))
    chunks = publish_note(db, PATH, text, cut=lambda content, _: chunk_text(content, 20, 0))
    assert [one.start + len(one.text) + 1 for one in chunks[:-1]] == [other.start for other in chunks[1:]]
    for each in chunks:
        region = region_of(db, row_of(db, each.text), each.text, 5000)
        assert region is not None
        assert (region.text, region.start, region.line) == (text, 0, 1)


def test_region_has_no_text_of_other_files() -> None:
    db = new_index(extension=False)
    publish_note(db, PATH, "# One\n\nthe first file")
    publish_note(db, "memory/b.md", "# Two\n\nthe second file, a longer one")
    region = region_of(db, row_of(db, "# One\n\nthe first file"), "# One\n\nthe first file", 700)
    assert region is not None
    assert (region.text, region.start, region.line) == ("# One\n\nthe first file", 0, 1)


def test_chunk_with_unknown_position_has_no_region() -> None:
    """As in an index that another program wrote."""
    db = new_index(extension=False)
    publish(db, PATH, ["somewhere"])
    db.execute("UPDATE chunks SET start_char = 0, end_char = 0")
    assert region_of(db, row_of(db, "somewhere"), "somewhere", 700) is None
