"""Deleted text is in no file of an index: its sentences after a while at rest, its words once it is compacted."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.index.connection import IndexFile
from memd.index.files import count_all, forget_file, publish_file
from memd.index.housekeeping import IDLE_S, compact, release_caches
from memd.index.transcripts import SessionFacts, StoredTranscript, store_transcript
from memd.system.sqlite import Database
from tests.support.indexes import chunk, file_row
from tests.support.open_indexes import open_index

KEYS = 300
CHANGED = 40
"""Sessions in an index, and sessions that are written again in one transaction."""


def mark(number: int) -> str:
    """Return a word that only one session has; their order is random, so that pages are split and merged."""
    return f"zq{number * 2_654_435_761 % 2**32:08x}"


def path_of(number: int) -> str:
    """Return the index path of a session."""
    return f"codex/{mark(number)}"


def write_sessions(db: Database, numbers: list[int], pick: random.Random) -> None:
    """Write sessions with their mark in path, title and messages; their sizes change each time."""
    for number in numbers:
        texts = [f"{mark(number)} said {at} " * pick.randint(1, 40) for at in range(pick.randint(1, 4))]
        publish_file(db, file_row(path_of(number), "codex"), [chunk(text) for text in texts], 1)
        facts = SessionFacts(
            "codex", mark(number), title=f"about {mark(number)} {'x' * pick.randint(0, 300)}"
        )
        store_transcript(db, path_of(number), StoredTranscript([1], facts=facts))


async def filled(path: Path) -> IndexFile:
    """Return an open index whose sessions were written many times."""
    index, pick = await open_index(path), random.Random(1)
    await index.write(lambda db: write_sessions(db, list(range(KEYS)), pick))
    for _ in range(20):
        some = pick.sample(range(KEYS), CHANGED)
        await index.write(partial(write_sessions, numbers=some, pick=pick))
    return index


def count_traces(folder: Path, words: list[str]) -> int:
    """Return how many of some words are in the files of a folder."""
    data = b"\n".join(path.read_bytes() for path in folder.iterdir())
    return sum(word.encode() in data for word in words)


async def test_compacted_index_has_no_trace_of_deleted_sessions(tmp_path: Path) -> None:
    index = await filled(tmp_path / "agent.sqlite")
    gone, remaining = list(range(0, KEYS, 3)), [number for number in range(KEYS) if number % 3]
    try:
        assert count_traces(tmp_path, [mark(number) for number in gone]) == len(gone)
        for number in gone:
            await index.write(partial(forget_file, path=path_of(number)))
        await compact(index)
        assert count_traces(tmp_path, [mark(number) for number in gone]) == 0
        assert count_traces(tmp_path, [mark(number) for number in remaining]) == len(remaining)
        assert (await index.read(count_all)).files == len(remaining)
    finally:
        await index.close()


def test_idle_index_has_no_sentence_of_a_deleted_session(tmp_path: Path) -> None:
    clock = MockClock()
    sentence = f"{mark(5)} said 0 "

    async def test() -> None:
        index = await open_index(tmp_path / "agent.sqlite")
        await index.write(lambda db: write_sessions(db, list(range(9)), random.Random(1)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(release_caches, index)
            await index.write(lambda db: forget_file(db, path_of(5)))
            assert count_traces(tmp_path, [sentence]) == 1
            await wait_all_tasks_blocked()
            clock.jump(IDLE_S * 1.5)
            await wait_all_tasks_blocked()
            for _ in range(2):  # the caches are released, then the log is emptied
                await index.use_writer(lambda db: None)
            assert count_traces(tmp_path, [sentence]) == 0
            nursery.cancel_scope.cancel()
        await index.close()

    trio.run(test, clock=clock)
