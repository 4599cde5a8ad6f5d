"""A writer killed at any moment leaves a sound index and nothing else."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path

import pytest
import trio

from memd.index.connection import IndexFile
from tests.support.index_writer import write_for_ever
from tests.support.indexes import EXTENSION, broken_rules

ROUNDS = 6


@pytest.mark.long
def test_a_killed_writer_leaves_a_sound_index(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    spawn = multiprocessing.get_context("spawn")
    pick = random.Random(7)
    for round_number in range(ROUNDS):
        here, there = spawn.Pipe(duplex=False)
        writer = spawn.Process(target=write_for_ever, args=(path, round_number, there), daemon=True)
        writer.start()
        there.close()
        wanted = pick.randrange(1, 120)
        while here.poll(60) and here.recv() < wanted:
            pass
        writer.kill()  # the next change is under way
        writer.join(30)
        here.close()
        left = {entry.name for entry in tmp_path.iterdir()}
        assert left <= {"agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm"}
        trio.run(_check, path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["agent.sqlite"]


async def _check(path: Path) -> None:
    """Open the index as the next daemon does."""
    index = await IndexFile.open(path, extension=EXTENSION, clock=lambda: 1, space_of=lambda a, b: a + b)
    try:
        assert index.set_aside is None
        assert await index.read(broken_rules) == []
    finally:
        await index.close()
