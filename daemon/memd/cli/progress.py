"""Progress of a long request: bars on a terminal, rate-limited lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memd.cli.lines import printable, size

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.progress import TaskID

    from memd_client.messages import Progress

LINE_PERIOD_S = 1.0
"""Minimum time between two lines of one stage."""

BYTE_STAGES = frozenset({"download", "wheel"})
"""Stages that count bytes; the others count items."""

SplitDetail = Callable[[str], tuple[str, str]]
"""Splits the detail of a progress message into the agent and the rest."""

DETAIL_CELLS = 40
"""Characters of a detail (usually a path) shown after a bar, taken from its end."""


def ignore(progress: Progress) -> None:
    """Discard progress."""


def split_agent(detail: str) -> tuple[str, str]:
    """Return the agent and the rest of a detail such as `main: memory/notes.md`."""
    agent, _, rest = detail.partition(": ")
    return agent, rest


def for_agent(agent: str) -> SplitDetail:
    """Return the split of details that concern one agent and don't name it."""
    return lambda detail: (agent, detail)


def title_of(stage: str, agent: str) -> str:
    """Return the agent and the stage, such as `main · text`."""
    return printable(f"{agent} · {stage}" if agent else stage, "")


def amount_of(progress: Progress) -> str:
    """Return the amount done, such as `120 of 1,300` or `12.0 MB of 24.5 MB`; without an unknown total."""
    as_bytes = progress.stage in BYTE_STAGES
    done = size(progress.done) if as_bytes else f"{progress.done:,}"
    if progress.total <= 0:
        return done
    return f"{done} of {size(progress.total) if as_bytes else f'{progress.total:,}'}"


class ProgressLines:
    """Progress as lines: at most one per period and stage, plus the last."""

    def __init__(self, split: SplitDetail, write: Callable[[str], None], now_s: Callable[[], float]) -> None:
        self._split = split
        self._write = write
        self._now_s = now_s
        self._shown_at: dict[str, float] = {}
        self._ended: dict[str, int] = {}

    def show(self, progress: Progress) -> None:
        """Print a line of progress if one is due."""
        title = title_of(progress.stage, self._split(progress.detail)[0])
        at_end = 0 < progress.total <= progress.done
        if at_end and self._ended.get(title) == progress.total:
            return
        now = self._now_s()
        if not at_end and now - self._shown_at.get(title, float("-inf")) < LINE_PERIOD_S:
            return
        self._shown_at[title] = now
        if at_end:
            self._ended[title] = progress.total
        self._write(f"{title}: {amount_of(progress)}\n")


class Bars:
    """Progress as live bars, one per agent and stage, removed when the block ends."""

    def __init__(self, split: SplitDetail, console: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._split = split
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[amount]}", markup=False),
            TextColumn("{task.fields[detail]}", markup=False, style="dim"),
            console=console,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def show(self, progress: Progress) -> None:
        """Update the bar of this agent and stage, created on first use."""
        agent, rest = self._split(progress.detail)
        title = title_of(progress.stage, agent)
        total = progress.total if progress.total > 0 else None
        detail = printable(rest, "")[-DETAIL_CELLS:]
        facts = {"amount": amount_of(progress), "detail": detail}
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=total, **facts)  # type: ignore[arg-type]
        self._bars.update(self._tasks[title], completed=progress.done, total=total, **facts)  # type: ignore[arg-type]
