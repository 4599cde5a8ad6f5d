"""What syncing does, counted: the rows and the sync of `memd.sync`, and nothing else about them changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from weakref import WeakKeyDictionary

from memd.index.files import Published
from memd.sync.disk.changes import Changes
from memd.sync.disk.discover import Discovery, Found
from memd.sync.text.file_rows import FileRows, Taken
from memd.sync.text.text_sync import Request, TextReport, TextSync
from memd.sync.vectors.fill import VectorFill
from memd.system.events import EVENTS
from memd.system.metrics import METER, Meter


class SyncMeter:
    """Counts what one agent's syncs do."""

    def __init__(self, agent_id: str, meter: Meter = METER) -> None:
        self._agent_id = agent_id
        self._meter = meter
        self._embedded: WeakKeyDictionary[VectorFill, int] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"<SyncMeter of {self._agent_id}>"

    def taken(self, outcome: Taken, seconds: float) -> None:
        """Count a file that was looked into."""
        self._meter.count("memd_files_taken_total", self._agent_id, outcome.value)
        self._meter.observe(seconds, "memd_file_seconds")

    def synced(self, report: TextReport, seconds: float) -> None:
        """Tell those who listen of a sync that changed something."""
        if report.files_changed or report.files_removed:
            EVENTS.publish(
                "sync",
                self._agent_id,
                files_changed=report.files_changed,
                files_removed=report.files_removed,
                took_ms=round(seconds * 1000, 1),
            )

    def waited(self, seconds: float) -> None:
        """Note how long a search waited for changed files."""
        self._meter.observe(seconds, "memd_catch_up_seconds")

    def followed_by(self, follow: Callable[[Published], None]) -> Callable[[Published], None]:
        """Return what counts the chunks of a committed change, and then hands it on."""

        def count(published: Published) -> None:
            if published.chunks_added:
                self._meter.count("memd_chunks_written_total", self._agent_id, by=published.chunks_added)
            follow(published)

        return count

    def note_embedded(self, fill: VectorFill | None) -> None:
        """Count what a fill has stored since it was looked at last."""
        if fill is None:
            return
        stored = fill.embedded - self._embedded.get(fill, 0)
        if stored:
            self._embedded[fill] = fill.embedded
            self._meter.count("memd_texts_embedded_total", self._agent_id, by=stored)


class MeteredRows(FileRows):
    """Rows that count the files taken in. `counts` is set before the first."""

    counts: SyncMeter

    async def take(self, group: Sequence[Found], *, force: bool = False) -> list[Taken]:
        """Take files in as `FileRows.take` does, and count each, with its share of the time."""
        started = perf_counter()
        taken = await super().take(group, force=force)
        for outcome in taken:
            self.counts.taken(outcome, (perf_counter() - started) / len(taken))
        return taken


class MeteredSync(TextSync):
    """A sync that notes how long searches wait for it. `counts` is set before the first."""

    counts: SyncMeter

    async def run_pass(self, batch: list[Request]) -> TextReport:
        """Run a pass as `TextSync.run_pass` does, and tell of it."""
        started = perf_counter()
        report = await super().run_pass(batch)
        self.counts.synced(report, perf_counter() - started)
        return report

    async def catch_up(
        self, disk: Discovery, changes: Changes, wait_s: float, *, patient: bool = False
    ) -> Changes:
        """Bring in what a search saw as `TextSync.catch_up` does, and note how long that took."""
        started = perf_counter()
        try:
            return await super().catch_up(disk, changes, wait_s, patient=patient)
        finally:
            self.counts.waited(perf_counter() - started)
