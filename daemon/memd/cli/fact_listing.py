"""What the commands about facts share: the requests they make, and a fact as lines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from memd.cli.connect import MemoryClient
from memd.cli.lines import Line, Piece, dotted, line

if TYPE_CHECKING:
    from memd_client.facts import (
        FactRow,
        MemoryEditReply,
        MemoryForgetReply,
        MemoryRecallReply,
        MemoryStoreReply,
    )


class FactsClient(MemoryClient, Protocol):
    """The part of `memd_client.Client` that is about facts."""

    def memory_recall(
        self, query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
    ) -> MemoryRecallReply:
        """Return facts."""

    def memory_store(
        self,
        text: str,
        *,
        agent: str | None = None,
        importance: float | None = None,
        category: str | None = None,
        id: str | None = None,  # noqa: A002 - the request's own name
        created_ms: int | None = None,
        vector: bytes | None = None,
        vector_model: str = "",
    ) -> MemoryStoreReply:
        """Keep a fact."""

    def memory_edit(
        self,
        id: str,  # noqa: A002 - the request's own name
        text: str,
        *,
        agent: str | None = None,
        was: str | None = None,
        importance: float | None = None,
        category: str | None = None,
    ) -> MemoryEditReply:
        """Change what a fact says."""

    def memory_forget(
        self,
        id: str | None = None,  # noqa: A002 - the request's own name
        *,
        query: str | None = None,
        agent: str | None = None,
    ) -> MemoryForgetReply:
        """Remove a fact."""


def fact_lines(fact: FactRow) -> tuple[Line, Line]:
    """Return a fact as lines: its place and properties, then its text."""
    created = ""
    if fact.created_ms is not None:
        created = datetime.fromtimestamp(fact.created_ms // 1000, UTC).strftime("%Y-%m-%d")
    about = dotted(created, fact.category, f"importance {fact.importance:.2g}", fact.id)
    return line((f"{fact.path}:{fact.line}", "path"), "  ", *about), line(fact.text, indent=2)


def place_line(state: Piece, path: str, number: int, category: str, fact_id: str) -> Line:
    """Return a line that says what became of a fact, and where it is."""
    return line(state, "  ", (f"{path}:{number}", "path"), "  ", *dotted(category, fact_id))
