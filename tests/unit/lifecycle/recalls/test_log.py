"""The log of recalls: bounded, without secrets, intact after damage and a full disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from memd.lifecycle.recalls import log as recalls_log
from memd.lifecycle.recalls.log import FILE, MAX_QUERY_CHARS, MAX_WAITING, OLDER_FILE, RecallLog
from memd.lifecycle.recalls.recall import Recall, Shown
from memd.system.metrics import Meter


def search(query: str = "which port", *agents: str) -> Recall:
    """Return a recall that showed one line."""
    place = Shown("memory/a.md#L3", "main")
    return Recall(way="search", program="memctl", agents=agents or ("main",), query=query, shown=(place,))


async def queries(log: RecallLog) -> list[str]:
    """Return the logged queries."""
    return [recall.query for recall in await log.read()]


async def test_recalls_are_read_back_in_order_with_times(tmp_path: Path) -> None:
    log = RecallLog(tmp_path, meter=Meter(), clock=lambda: 7)
    log.add(search("one"))
    log.add(search("two"))

    first, second = await RecallLog(tmp_path).read() or await log.read()

    assert (first.query, second.query) == ("one", "two")
    assert (first.time_ms, first.outcome, first.shown) == (7, "strong", (Shown("memory/a.md#L3", "main"),))
    assert first.id < second.id
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


async def test_a_query_is_one_short_line_without_secrets(tmp_path: Path) -> None:
    log = RecallLog(tmp_path)
    log.add(search("the\n\ntoken sk-ant-api03-" + "aB3" * 20))
    log.add(search("x " * 9_000))

    secret, long = await queries(log)

    assert secret == "the token [redacted:anthropic-key]"
    assert len(long) <= MAX_QUERY_CHARS


async def test_damaged_lines_are_skipped_and_later_batches_are_intact(tmp_path: Path) -> None:
    log = RecallLog(tmp_path)
    log.add(search("one"))
    await log.flush()
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'[1]\n{"id": "x"}\n\xff\xfe\n' + b"[" * 90_000 + b'\n{"id":9,"way":"se')
    log.add(search("two"))

    assert await queries(log) == ["one", "two"]


async def test_the_oldest_recalls_are_dropped_when_both_files_are_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalls_log, "MAX_FILE_BYTES", 1_000)
    log = RecallLog(tmp_path)
    for number in range(40):
        log.add(search(f"query {number}"))
        await log.flush()

    assert (tmp_path / FILE).stat().st_size <= 1_000
    assert (tmp_path / OLDER_FILE).stat().st_size <= 1_000
    kept = await queries(log)
    assert kept == [f"query {number}" for number in range(40 - len(kept), 40)]


async def test_a_full_disk_drops_and_counts_a_batch_and_harms_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = Meter()
    log = RecallLog(tmp_path, meter=meter)
    log.add(search("one"))
    await log.flush()
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, data: write(handle, data[:9]))
        log.add(search("two"))
        await log.flush()
    with monkeypatch.context() as full:
        full.setattr(os, "open", refuse)
        log.add(search("three"))
        await log.flush()
    log.add(search("four"))

    assert await queries(log) == ["one", "four"]
    assert meter.value("memd_recalls_dropped_total") == 2


def refuse(*_: object) -> int:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_queue_that_is_full_drops_recalls_and_counts_them() -> None:
    meter = Meter()
    log = RecallLog(meter=meter)
    for _ in range(MAX_WAITING + 3):
        log.add(search())

    assert len(await log.read()) == MAX_WAITING
    assert meter.value("memd_recalls_dropped_total") == 3
    assert meter.value("memd_recalls_total", "search", "strong") == MAX_WAITING + 3


async def test_forgetting_rewrites_the_files_without_the_chosen_recalls(tmp_path: Path) -> None:
    log = RecallLog(tmp_path)
    for query, agent in (("one", "main"), ("two", "work"), ("three", "main")):
        log.add(search(query, agent))

    assert await log.forget(lambda recall: "work" in recall.agents) == 1

    assert await queries(log) == ["one", "three"]
    assert b"two" not in (tmp_path / FILE).read_bytes()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert await log.forget(lambda _: True) == 2
    assert os.listdir(tmp_path) == []


async def test_a_log_that_is_off_writes_nothing_and_is_deleted_by_pruning(tmp_path: Path) -> None:
    on = RecallLog(tmp_path)
    on.add(search())
    await on.flush()
    off = RecallLog(tmp_path, is_on=lambda: False)
    off.add(search("two"))
    await off.prune()

    assert os.listdir(tmp_path) == []


async def test_recalls_of_removed_agents_are_pruned(tmp_path: Path) -> None:
    log = RecallLog(tmp_path, is_kept=lambda recall: "main" in recall.agents)
    log.add(search("one", "main"))
    log.add(search("two", "gone"))
    await log.prune()

    assert await queries(log) == ["one"]


async def test_a_verdict_is_added_to_an_earlier_recall(tmp_path: Path) -> None:
    log = RecallLog(tmp_path)
    log.add(search())
    [recall] = await log.read()
    await log.flush({recall.id: (0,), 5: (1,)})

    assert [(each.query, each.used) for each in await log.read()] == [("which port", (0,))]


async def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("")
    (tmp_path / FILE).symlink_to(target)
    log = RecallLog(tmp_path)
    log.add(search())

    assert await log.read() == []
    assert target.read_text() == ""
