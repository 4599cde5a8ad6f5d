"""CPU time of other processes during a measurement."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

PROC: Final = Path("/proc")

QUIET_SHARE: Final = 0.04
"""Share of the cores that other processes may use in a round that counts."""

T = TypeVar("T")


class OtherProcesses:
    """CPU time of processes other than this one and its descendants.

    Counts from its creation on. The kernel counts in steps of 10 ms, so results below a second are rough. Time stolen
    by another virtual machine is included. Without /proc the result is always 0.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._all, self._own = _busy_s(), _own_s()

    def share(self) -> float:
        """Return the share of all cores that other processes used: 0 none, 1 all."""
        capacity_s = (time.perf_counter() - self._began) * (os.cpu_count() or 1)
        others_s = (_busy_s() - self._all) - (_own_s() - self._own)
        return max(0.0, others_s / capacity_s)


def run_undisturbed(run: Callable[[], T], until: float, *, pause_s: float = 0.5) -> tuple[T, float]:
    """Repeat a call until other processes are quiet or time is up.

    Returns the result of the quietest call and the other processes' share.
    """
    best: tuple[T, float] | None = None
    while True:
        neighbours = OtherProcesses()
        value = run()
        share = neighbours.share()
        if best is None or share < best[1]:
            best = value, share
        if best[1] <= QUIET_SHARE or time.perf_counter() > until:
            return best
        time.sleep(pause_s)


def _busy_s() -> float:
    """Return the seconds in which cores were busy since boot, all cores together."""
    try:
        fields = [int(field) for field in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return 0.0
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Return the CPU seconds of this process and its descendants, ended ones included."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for path in PROC.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        spent[pid] = sum(int(field) for field in fields[11:15])  # its own and its reaped children's
    mine, found = {os.getpid()}, 0
    while len(mine) > found:
        found = len(mine)
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sum(spent.get(pid, 0) for pid in mine) / os.sysconf("SC_CLK_TCK")
