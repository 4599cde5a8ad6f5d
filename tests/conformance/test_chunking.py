"""`chunk_text` cuts the same chunks as OpenClaw."""

from __future__ import annotations

from typing import Any

from memd.text.cut.chunking import chunk_text
from tests.conformance.cases import recorded


@recorded("chunking", "name")
def test_chunks_have_the_recorded_lines_and_hashes(case: dict[str, Any]) -> None:
    chunks = chunk_text(case["content"], case["tokens"], case["overlap"])

    assert [
        {"start_line": chunk.start_line, "end_line": chunk.end_line, "hash": chunk.hash} for chunk in chunks
    ] == case["expected"]
