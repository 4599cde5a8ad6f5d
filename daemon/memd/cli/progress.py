"""How far a long request is: bars for a terminal, paced lines for anything else."""

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
"""Seconds between two lines of one stage: a log stays readable, and a watcher sees it move."""

BYTE_STAGES = frozenset({"download", "wheel"})
"""Stages that count bytes; the others count things."""

SplitDetail = Callable[[str], tuple[str, str]]
"""Returns the agent a progress is about, and what is left of its detail."""

DETAIL_CELLS = 40
"""Characters of a detail (a path, as a rule) shown behind a bar; its end tells most."""


def ignore(progress: Progress) -> None:
    """Take progress nobody watches."""


def agent_first(detail: str) -> tuple[str, str]:
    """Return the agent and the rest of a detail such as `main: memory/notes.md`, as a sync of all has it."""
    agent, _, rest = detail.partition(": ")
    return agent, rest


def of_agent(agent: str) -> SplitDetail:
    """Return how to split details that are all about one agent and don't name it."""
    return lambda detail: (agent, detail)


def title_of(stage: str, agent: str) -> str:
    """Return the agent and the stage, such as `main · text`."""
    return printable(f"{agent} · {stage}" if agent else stage, "")


def amount_of(progress: Progress) -> str:
    """Return what is done, such as `120 of 1,300` or `12.0 MB of 24.5 MB`; the total where it is known."""
    as_bytes = progress.stage in BYTE_STAGES
    done = size(progress.done) if as_bytes else f"{progress.done:,}"
    if progress.total <= 0:
        return done
    return f"{done} of {size(progress.total) if as_bytes else f'{progress.total:,}'}"


class ProgressLines:
    """Progress as lines: at most one a period and stage, and always the last one."""

    def __init__(self, split: SplitDetail, write: Callable[[str], None], now_s: Callable[[], float]) -> None:
        self._split = split
        self._write = write
        self._now_s = now_s
        self._told_at: dict[str, float] = {}
        self._ended: dict[str, int] = {}

    def show(self, progress: Progress) -> None:
        """Tell a line of progress where it is time for one."""
        title = title_of(progress.stage, self._split(progress.detail)[0])
        at_end = 0 < progress.total <= progress.done
        if at_end and self._ended.get(title) == progress.total:
            return
        now = self._now_s()
        if not at_end and now - self._told_at.get(title, float("-inf")) < LINE_PERIOD_S:
            return
        self._told_at[title] = now
        if at_end:
            self._ended[title] = progress.total
        self._write(f"{title}: {amount_of(progress)}\n")


class Bars:
    """Progress as live bars, one an agent and stage; they leave the terminal when the block ends."""

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
        """Move the bar of this progress, which appears with its first."""
        agent, rest = self._split(progress.detail)
        title = title_of(progress.stage, agent)
        total = progress.total if progress.total > 0 else None
        detail = printable(rest, "")[-DETAIL_CELLS:]
        facts = {"amount": amount_of(progress), "detail": detail}
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=total, **facts)  # type: ignore[arg-type]
        self._bars.update(self._tasks[title], completed=progress.done, total=total, **facts)  # type: ignore[arg-type]
