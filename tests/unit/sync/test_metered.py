"""What syncs count: files by what came of them, chunks, and vectors across changes of the provider."""

from __future__ import annotations

from typing import cast

from memd.index.files import Published
from memd.sync.metered import SyncMeter
from memd.sync.text.file_rows import Taken
from memd.sync.vectors.fill import VectorFill
from memd.system.metrics import Meter


class Fill:
    """As much of a fill as is counted."""

    def __init__(self) -> None:
        self.embedded = 0


def test_files_are_counted_by_what_came_of_them_and_timed() -> None:
    meter = Meter()
    counts = SyncMeter("main", meter)

    for outcome in (Taken.CHANGED, Taken.CHANGED, Taken.GONE):
        counts.taken(outcome, 0.002)

    assert dict(meter.counters("memd_files_taken_total")) == {("main", "changed"): 2, ("main", "gone"): 1}
    ((_, histogram),) = meter.histograms("memd_file_seconds")
    assert sum(histogram.counts) == 3


def test_chunks_written_are_counted_and_the_change_is_handed_on() -> None:
    meter = Meter()
    heard: list[Published] = []
    changes = [Published("a.md", 1, chunks_added=3), Published("a.md", 2, chunks_removed=3)]

    follow = SyncMeter("main", meter).followed_by(heard.append)
    for change in changes:
        follow(change)

    assert heard == changes
    assert dict(meter.counters("memd_chunks_written_total")) == {("main",): 3}


def test_vectors_are_counted_once_whichever_provider_made_them() -> None:
    meter = Meter()
    counts = SyncMeter("main", meter)
    wanted, spare = Fill(), Fill()

    for fill, embedded in ((wanted, 5), (wanted, 5), (spare, 2), (wanted, 6), (None, 0)):
        if fill is not None:
            fill.embedded = embedded
        counts.note_embedded(cast(VectorFill | None, fill))

    assert meter.value("memd_texts_embedded_total", "main") == 8
