"""Keeps file events armed over the folders there are, whatever ends them.

A watch can't be changed, so a new one takes its place: armed beside the old one, which goes on until all it
knew is told. Only where there is none to overlap with is something missed, and everybody hinted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
import trio

from memd.sync.disk.discover import NO_DESCRIPTOR
from memd.sync.disk.filesystems import Mounts
from memd.sync.watch.events import EventsFailed, EventSource, Seen, out_of_descriptors, read_changes
from memd.sync.watch.folders import Hint, Identity, Layout, WatchPlan, survey

log = structlog.get_logger(__name__)

OVERLAP_STEPS = 3
"""How long a watch goes on beside the next one: as long as its last changes may take to be told. It is the
least time between two armings too, so that a burst of new folders costs few of them."""

ARM_SHARE = 20
"""How many times longer the rest after a look at the folders is than the look, with what was armed: at most 5 %
of a core goes there."""

LONGEST_REST_S = 10.0
"""The most such a rest takes: a busy machine makes looks long that cost little."""

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
"""Pauses before events are armed again after a failure: they double from the first to the longest. When the last
one is over and nothing fails for as long as the longest, all is well again."""

FAILURES_BRIDGED = 2
"""Failures in a row before polling takes over."""

RACES_EXPECTED = 5
"""How often in a row a folder may go while it is being armed before that counts as a failure."""


@dataclass(eq=False, slots=True)
class _Watch:
    """An armed source, and the folders its events are about."""

    source: EventSource
    layout: Layout
    armed: Mapping[str, Identity]
    ended: trio.Event = field(default_factory=trio.Event)


class Arming:
    """Events over the folders of all plans.

    `down` says why there are none, `polled` for which agents they are not the whole truth, and why. `odd` are
    folders that hold a name that ends a watch, or may.
    """

    def __init__(
        self,
        plans: Mapping[str, WatchPlan],
        *,
        on_hints: Callable[[Iterable[Hint]], None],
        on_state: Callable[[], None],
        arm: Callable[[Sequence[str], int], EventSource],
        step_ms: int,
        mounts: Callable[[], Mounts],
        threads: trio.CapacityLimiter,
        retry_s: float,
        recheck_s: float,
    ) -> None:
        self._plans = plans
        self._on_hints = on_hints
        self._on_state = on_state
        self._arm = arm
        self._step_ms = step_ms
        self._overlap_s = OVERLAP_STEPS * step_ms / 1000
        self._mounts = mounts
        self._threads = threads
        self._retry_s = retry_s
        self._recheck_s = recheck_s
        self.down = ""
        self.polled: dict[str, str] = {}
        self.odd: frozenset[str] = frozenset()
        self._watch: _Watch | None = None
        self._marked: set[Hint] = set()
        self._stale = False
        self._again = trio.Event()
        self._rest_until = 0.0
        self._failures = 0
        self._races = 0
        self._settles_at = 0.0

    @property
    def folders(self) -> int:
        """How many folders are armed."""
        return 0 if self._watch is None else len(self._watch.armed)

    def look_again(self, hints: Iterable[Hint] = ()) -> None:
        """Look at the folders again, and give these hints when they are armed."""
        self._marked.update(hints)
        self._again.set()

    async def run(self) -> None:
        """Keep events armed until cancelled; all that was armed is closed then."""
        self._watch = None
        async with trio.open_nursery() as nursery:
            while True:
                idle_s = self._recheck_s
                if self._failures:
                    idle_s = min(idle_s, max(0.0, self._settles_at - trio.current_time()))
                with trio.move_on_after(idle_s):
                    await self._again.wait()
                await trio.sleep_until(self._rest_until)
                if trio.current_time() < self._rest_until:
                    continue  # a failure meanwhile made it later
                self._again = trio.Event()
                try:
                    await self._follow(nursery)
                except EventsFailed as failure:
                    self._fail(failure)

    async def _follow(self, nursery: trio.Nursery) -> None:
        """Arm the folders there are now, unless they are."""
        started_s = trio.current_time()
        suspects = self.odd
        layout = await self._survey(suspects)
        self.odd = layout.odd | (self.odd - suspects)
        if layout.polled != self.polled:
            self.polled = layout.polled
            self._on_state()
        concerned, self._marked = self._marked, set()
        old, armed = self._watch, layout.listened()
        if old is not None and armed == old.armed and not self._stale:
            old.layout = layout
        elif armed:
            try:
                old = await self._arm_beside(layout, armed, nursery)
            except EventsFailed as failure:
                self._marked |= concerned
                if self._watch is None or not failure.is_limit:
                    raise
                await self._make_room(self._watch)
                return
            concerned |= self._everybody() if old is None else layout.hints_since(old.layout)
        elif old is not None:
            self._watch = None
            nursery.start_soon(self._retire, old)
        self._rest(min(ARM_SHARE * (trio.current_time() - started_s), LONGEST_REST_S))
        self._settle()
        self._on_hints(concerned)

    def _everybody(self) -> set[Hint]:
        """Return all hints there are: whoever has a plan may have missed something."""
        return {hint for plan in self._plans.values() for hint in plan.hints}

    async def _survey(self, suspects: frozenset[str]) -> Layout:
        """Return the folders that matter now."""
        plans = tuple(self._plans.values())

        def look() -> Layout:
            return survey(plans, self._mounts(), suspects, "listened")

        try:
            return await trio.to_thread.run_sync(look, limiter=self._threads, abandon_on_cancel=True)
        except OSError as error:
            if error.errno in NO_DESCRIPTOR:
                raise out_of_descriptors() from error
            raise EventsFailed(f"the folders can't be looked at: {error}") from error

    async def _arm_beside(
        self, layout: Layout, armed: Mapping[str, Identity], nursery: trio.Nursery
    ) -> _Watch | None:
        """Arm a new watch beside the old one; return the old one where changes were seen without a gap."""
        started_s = trio.current_time()
        stale, self._stale = self._stale, False
        try:
            source = await trio.to_thread.run_sync(
                self._arm, list(armed), self._step_ms, limiter=self._threads
            )
        except EventsFailed:
            self._stale |= stale
            raise
        self._races = 0
        old, self._watch = self._watch, _Watch(source, layout, armed)
        nursery.start_soon(self._listen, self._watch)
        if old is not None:
            nursery.start_soon(self._retire, old)
        took_s = trio.current_time() - started_s
        log.debug("watch.armed", folders=len(armed), took_ms=round(took_s * 1000))
        self._rest(self._overlap_s)
        self._again.set()  # one more look finds what came while this one was armed
        return old

    async def _make_room(self, old: _Watch) -> None:
        """End a watch that may be what the next one lacks, and arm that one in a moment."""
        self._watch = None
        old.source.stop()
        await old.ended.wait()
        self._rest(self._overlap_s)  # a thread of its own gives back what it held
        self._again.set()

    async def _listen(self, watch: _Watch) -> None:
        """Pass a watch's changes on until it is stopped or fails."""
        failure = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_stop_when_cancelled, watch.source)
                try:
                    while True:
                        seen = await trio.to_thread.run_sync(_wait, watch, limiter=self._threads)
                        if seen is None:
                            break
                        self._pass_on(watch, seen)
                except EventsFailed as error:
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            watch.source.close()  # has happened in the thread, unless this was cancelled before it began
            watch.ended.set()
        if failure is not None and watch is self._watch:
            self._watch = None
            self.odd |= watch.armed.keys()  # one of them may hold what ended it
            self._fail(failure)

    def _pass_on(self, watch: _Watch, seen: Seen) -> None:
        """Hint whom changes concern, and look at the folders again where those may have changed."""
        self._on_hints(seen.hints)
        if watch is self._watch and (seen.rearm or seen.replan):
            self._stale |= seen.rearm
            self.look_again(seen.replan)

    async def _retire(self, watch: _Watch) -> None:
        """Stop a watch when all it knew before the next one was armed is told."""
        await trio.sleep(self._overlap_s)
        watch.source.stop()

    def _fail(self, failure: EventsFailed) -> None:
        """Note a failure, and when to try again."""
        self._again.set()
        if failure.is_race and self._races < RACES_EXPECTED:
            self._races += 1
            self._rest(self._overlap_s)
            return
        self._failures += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures - 1, 16))
        if failure.is_limit:
            pause_s = self._retry_s
        else:
            log.warning("watch.failed", error=failure.reason, pause_s=pause_s)
        self._rest(pause_s)
        self._settles_at = self._rest_until + (0.0 if failure.is_limit else LONGEST_PAUSE_S)
        if (failure.is_limit or self._failures > FAILURES_BRIDGED) and self.down != failure.reason:
            self.down = failure.reason
            self._on_state()

    def _rest(self, pause_s: float) -> None:
        """Do nothing for so long, or longer where that was said before."""
        self._rest_until = max(self._rest_until, trio.current_time() + pause_s)

    def _settle(self) -> None:
        """Forget failures that lie far enough back; a limit that was no longer in the way is gone."""
        if self._failures and trio.current_time() >= self._settles_at:
            self._failures = 0
            if self.down:
                self.down = ""
                self._on_state()


def _wait(watch: _Watch) -> Seen | None:
    """Return what the next changes mean (blocking), or None when the watch was stopped."""
    changes = watch.source.wait()
    return None if changes is None else read_changes(watch.layout, changes)


async def _stop_when_cancelled(source: EventSource) -> None:
    """Stop a source as soon as this task is cancelled: a thread can't be."""
    try:
        await trio.sleep_forever()
    finally:
        source.stop()
