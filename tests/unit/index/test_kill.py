"""A writer killed at any moment leaves a sound index and nothing else."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path

import pytest

from memd.system.sqlite import Database
from tests.support.indexes import find_inconsistencies, write_until_killed
from tests.support.open_indexes import open_and_close

ROUNDS = 6


def check(db: Database) -> None:
    assert find_inconsistencies(db) == []


@pytest.mark.long
def test_a_killed_writer_leaves_a_sound_index(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    spawn = multiprocessing.get_context("spawn")
    pick = random.Random(7)
    for round_number in range(ROUNDS):
        here, there = spawn.Pipe(duplex=False)
        writer = spawn.Process(target=write_until_killed, args=(path, round_number, there), daemon=True)
        writer.start()
        there.close()
        wanted = pick.randrange(1, 120)
        while here.poll(60) and here.recv() < wanted:
            pass
        writer.kill()  # during the next change
        writer.join(120)
        here.close()
        left = {entry.name for entry in tmp_path.iterdir()}
        assert left <= {"agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm"}
        assert open_and_close(path, write=check)[0].quarantined is None
        assert [entry.name for entry in tmp_path.iterdir()] == ["agent.sqlite"]
