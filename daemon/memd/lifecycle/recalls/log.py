"""The log of recalls on disk: lines of JSON in two files; when the newer one is full, it replaces the older one.

A batch begins and ends with a line end, so a batch that a kill cut off damages no other line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path

import msgspec
import trio

from memd.agents.registry import AgentRegistry
from memd.lifecycle.recalls.recall import Recall
from memd.system.clock import Clock, wall_clock_ms
from memd.system.log import log
from memd.system.metrics import METER, Meter
from memd.system.state_file import load_whole, replace_whole

FILE, OLDER_FILE, MAX_FILE_BYTES = "recalls.jsonl", "recalls.older.jsonl", 5_000_000

MAX_WAITING = 1_000
"""Recalls that wait to be written; further ones are dropped and counted."""

BATCH_INTERVAL_S, CLOSE_TIMEOUT_S = 1.0, 1.0

MAX_QUERY_CHARS = 300
"""Characters of a query that are logged, on one line and without secrets."""

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RecallLog:
    """The recalls of all agents that `is_kept` accepts, masked by `mask`. Without a folder they are in RAM only."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        is_on: Callable[[], bool] = lambda: True,
        is_kept: Callable[[Recall], bool] = lambda _: True,
        mask: Callable[[Recall], Recall] = lambda recall: recall,
        meter: Meter = METER,
        clock: Clock = wall_clock_ms,
    ) -> None:
        self.is_on = is_on
        self._folder = folder
        self._is_kept, self._mask = is_kept, mask
        self._meter = meter
        self._clock = clock
        self._waiting: list[Recall] = []
        self._has_work = trio.Event()
        self._disk = trio.Lock()
        self._last_id = 0

    def __repr__(self) -> str:
        return f"<RecallLog in {self._folder}, {len(self._waiting)} waiting>"

    def add(self, recall: Recall) -> None:
        """Log a recall soon, or drop it if too many wait. Never blocks."""
        if recall.way != "hook":
            self._meter.count("memd_recalls_total", recall.way, recall.outcome)
        if not self.is_on():
            return
        if len(self._waiting) >= MAX_WAITING:
            self._meter.count("memd_recalls_dropped_total")
            return
        self._last_id = recall.id = max(self._last_id + 1, self._clock() * 1000)
        self._waiting.append(recall)
        self._has_work.set()

    async def run(self) -> None:
        """Write batches until cancelled; first delete what is not kept any more."""
        await self.prune()
        try:
            while True:
                await self._has_work.wait()
                await trio.sleep(BATCH_INTERVAL_S)
                await self.flush()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_TIMEOUT_S):
                await self.flush()

    async def flush(self, verdicts: Mapping[int, tuple[int, ...]] | None = None) -> None:
        """Write what waits, and the verdicts on earlier recalls by their ids."""
        if self._folder is None:
            return
        async with self._disk:
            self._has_work = trio.Event()
            judged = [Recall(key, used=used) for key, used in (verdicts or {}).items()]
            batch, self._waiting = [*map(self._mask, self._waiting), *judged], []
            try:
                if batch:
                    await trio.to_thread.run_sync(_append, self._folder, batch)
            except OSError as error:
                self._meter.count("memd_recalls_dropped_total", by=len(batch))
                log.warning("recalls.not_written", error=error.strerror)

    async def read(self) -> list[Recall]:
        """Return all logged recalls, the oldest first."""
        await self.flush()
        if self._folder is None:
            return list(self._waiting)
        async with self._disk:
            return await trio.to_thread.run_sync(_load, self._folder)

    async def prune(self) -> None:
        """Delete all if the log is off, else what is not kept any more, such as recalls of removed agents."""
        await self.forget(lambda recall: not (self.is_on() and self._is_kept(recall)))

    async def forget(self, is_forgotten: Callable[[Recall], bool]) -> int:
        """Delete the recalls that a function selects; return how many."""
        await self.flush()
        if self._folder is None:
            return 0
        async with self._disk:
            return await trio.to_thread.run_sync(_rewrite, self._folder, is_forgotten)


def open_log(registry: AgentRegistry) -> RecallLog:
    """Return the log of a registry's agents, which is pruned when agents are removed."""
    recalls = RecallLog(
        registry.state_dir / "memory",
        is_on=lambda: registry.settings.recall_log,
        is_kept=lambda recall: not registry.agents.keys().isdisjoint(recall.agents),
        mask=lambda recall: reduce(
            lambda it, agent: registry.forgotten.of(agent).mask_all(it), recall.agents, recall
        ),
    )
    registry.on_removed = recalls.prune
    return recalls


def _append(folder: Path, batch: Iterable[Recall]) -> None:
    """Append recalls to the newer file (blocking). A batch that doesn't fit on the disk leaves nothing."""
    data, path = b"\n" + _encoded(batch), folder / FILE
    folder.mkdir(0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if path.stat().st_size + len(data) > MAX_FILE_BYTES:
            path.replace(folder / OLDER_FILE)
    handle = os.open(path, _APPEND, 0o600)
    try:
        size = os.fstat(handle).st_size
        if os.write(handle, data) < len(data):
            os.ftruncate(handle, size)
            raise OSError(0, "the disk is full")
    finally:
        os.close(handle)


def _encoded(recalls: Iterable[Recall]) -> bytes:
    from memd.text.redact.secrets import redact  # not at the start: it reads files

    lines = list[bytes]()
    for recall in recalls:
        recall.query = " ".join(redact(recall.query[: 4 * MAX_QUERY_CHARS])[0].split())[:MAX_QUERY_CHARS]
        lines.append(msgspec.json.encode(recall) + b"\n")
    return b"".join(lines)


def _load(folder: Path) -> list[Recall]:
    """Return the recalls in both files (blocking); lines that are damaged are skipped."""
    recalls: dict[int, Recall] = {}
    decoder = msgspec.json.Decoder(Recall)
    for name in (OLDER_FILE, FILE):
        data = b""
        with suppress(OSError, ValueError):
            data = load_whole(folder / name, 2 * MAX_FILE_BYTES, through_link=False)
        for line in data.split(b"\n"):
            with suppress(ValueError, RecursionError):
                recall = decoder.decode(line)
                if recall.way:
                    recalls[recall.id] = recall
                elif recall.id in recalls:
                    recalls[recall.id].used = recall.used
    return list(recalls.values())


def _rewrite(folder: Path, is_forgotten: Callable[[Recall], bool]) -> int:
    """Delete recalls from both files (blocking). All are deleted if the others can't be written."""
    recalls = _load(folder)
    kept = [recall for recall in recalls if not is_forgotten(recall)]
    if kept and len(kept) == len(recalls):
        return 0
    (folder / OLDER_FILE).unlink(missing_ok=True)
    (folder / FILE).unlink(missing_ok=True)
    with suppress(OSError):
        if kept:
            replace_whole(folder / FILE, _encoded(kept))
    return len(recalls) - len(kept)
