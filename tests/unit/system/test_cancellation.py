"""Cancellation of text processing in worker threads."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
from trio.testing import MockClock

from memd.index.connection import IndexFile
from memd.search.rank.fusion import Ranked
from memd.search.rank.near_duplicates import NearDuplicates
from memd.search.rank.stages import rerank_mmr
from memd.search.service import DEADLINE_SLACK_S, SearchService
from memd.sync.search_scheduler import SearchScheduler
from memd.system.cancellation import WorkCancelledError, cancelled_by, check_cancelled
from memd.system.sqlite import Database
from memd.text.cut.snippets import cut_snippet
from memd.text.query.days.find import find_days
from memd.text.query.exact import exact_match_counts
from memd.text.query.keywords import plan_match
from memd.text.query.typos import Vocabulary, similar_words
from memd_client.errors import DeadlineExceededError
from memd_client.messages import SearchParams
from tests.support.indexes import new_index, publish, search, search_spec
from tests.support.open_indexes import run_with_index


def search_everything() -> Any:
    db = new_index(extension=False)
    publish(db, "memory/a.md", ["the lease ends in may"])
    return search(db, search_spec("lease", explain=True))


def near_duplicates() -> Any:
    repeats = NearDuplicates([1, 2], np.array([7, 7]), lambda _: {1: "one", 2: "two"})
    return repeats.find_originals([1, 2])


WORK: dict[str, Callable[[], Any]] = {
    "query": lambda: plan_match("when does the lease end"),
    "days": lambda: find_days("last week", datetime.date(2026, 5, 8)),
    "names": lambda: exact_match_counts(["lease"], {1: "lease", 2: "lease"}),
    "typos": lambda: similar_words("tenatns", Vocabulary("tenants\ntenures", [1, 1]), 3),
    "snippet": lambda: cut_snippet("one line\n" * 100, 1, ["line"]),
    "diversity": lambda: rerank_mmr(
        [Ranked(n, "a.md", n, n, "text", None, 1.0, 1.0 / n) for n in (1, 2)], 0.5
    ),
    "near duplicates": near_duplicates,
    "search": search_everything,
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_work_stops_after_its_caller_was_cancelled(work: Callable[[], Any]) -> None:
    assert work() is not None

    with cancelled_by(lambda: True), pytest.raises(WorkCancelledError):
        work()


def test_uncancelled_work_continues() -> None:
    check_cancelled()
    with cancelled_by(lambda: False):
        check_cancelled()


def test_read_after_its_timeout_frees_its_worker_thread(tmp_path: Path) -> None:
    ended = threading.Event()

    def compute(_: Database) -> None:
        try:
            while True:
                check_cancelled()
        finally:
            ended.set()

    async def test(index: IndexFile) -> None:
        with pytest.raises(DeadlineExceededError):
            await index.read(compute, timeout_s=0.05)
        assert await trio.to_thread.run_sync(ended.wait, 30)

    run_with_index(tmp_path, test)


class EndlessSearch(SearchService):
    """A search service whose first step never ends."""

    def __init__(self) -> None:
        self._scheduler = SearchScheduler()

    async def _transcript_of(self, params: SearchParams) -> str | None:
        await trio.sleep_forever()
        raise AssertionError


def test_search_ends_soon_after_its_deadline() -> None:
    async def test() -> None:
        with pytest.raises(DeadlineExceededError, match="within 2000 ms"):
            await EndlessSearch().search(SearchParams(query="lease", deadline_ms=2000))
        assert trio.current_time() - begun == pytest.approx(2 + DEADLINE_SLACK_S)

    clock = MockClock(autojump_threshold=0)
    begun = clock.current_time()
    trio.run(test, clock=clock)
