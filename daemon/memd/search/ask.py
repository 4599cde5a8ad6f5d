"""One search under way: what was found so far, and what is left to find."""

from __future__ import annotations

from time import perf_counter

from memd.index.connection import Database
from memd.index.vectors.vector_search import VectorSearch
from memd.search.find import find_hits
from memd.search.query import Candidates, Found, Question
from memd.sync.disk.changes import Changes
from memd.sync.disk.discover import Discovery
from memd.sync.disk.verify import check_against, check_by_name
from memd.sync.text.text_sync import TextSync
from memd.vector_search.active_provider import Side
from memd_client.messages import Degraded


class Ask:
    """One search under way: what its two threads have found, for whichever comes last.

    `words` is set only once the disk was looked at and holds nothing new, so who sees it may finish. `in_one` says
    that one thread does everything, `is_lexical` that vectors are not to be compared.
    """

    def __init__(
        self, question: Question, text: TextSync, workspace: str, budget_s: float, side: Side | None
    ) -> None:
        self.question = question
        self.came_at = perf_counter()
        self.in_one = False
        self.is_lexical = False
        self._text = text
        self._workspace = workspace
        self.budget_s = budget_s
        self.side = side
        self.disk: Discovery | None = None
        self.behind: Changes | None = None
        self.is_cut = False
        self.has_new_vectors = False
        self.look_ms = 0.0
        self.degraded: Degraded | None = None
        self.search: VectorSearch | None = None
        self.words: Candidates | None = None
        self.meaning: Candidates | None = None
        self.found: Found | None = None

    def timings(self, found: Found) -> dict[str, float]:
        """Return what the parts of the search took, in milliseconds."""
        parts = {"look_ms": self.look_ms, **found.timings}
        return {name: round(took_ms, 3) for name, took_ms in parts.items()}

    def finish(self, db: Database) -> Found:
        """Return the hits out of what was found so far; what the index has outrun is found again."""
        if self.disk is not None:
            is_there = check_against(self.disk, self.behind, self._text.sources.load)
        else:
            is_there = check_by_name(self._workspace)
        return find_hits(db, self.question, self.search, self.words, self.meaning, is_there=is_there)
