"""Cost of an idle daemon: its RAM without a model, and its CPU time.

    python -m benchmarks.idle [--agents 20] [--files 50] [--seconds 60] [--json]

All agents' folders are watched, their indexes are open, and settings are checked every two seconds. CPU time is that of
the daemon's process, from the kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass

from benchmarks.scale_process import processor_s, resident_mb
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BAR_MB = 64.0
BAR_CPU_PERCENT = 0.5
SETTLE_S = 10.0
"""After the first sync, for allocators and the watcher."""


@dataclass
class IdleCost:
    """RSS in MB, CPU time as a percentage of one core, open descriptors."""

    agents: int
    files: int
    rss_mb: float
    cpu_percent: float
    descriptors: int


def measure(agents: int, files: int, seconds: float) -> IdleCost:
    """Return the cost of an idle daemon with so many agents."""
    names = [f"agent{number:02}" for number in range(agents - 1)]
    with StateHome() as home:
        home.configure(agents_config(home.state, *names))
        for name in ["main", *names]:
            for number in range(files):
                home.note(
                    f"memory/{number % 10}/{number:03}.md", f"# Note {number}\n\nOf {name}.\n" * 5, agent=name
                )
        with DaemonProcess(home) as daemon:
            daemon.wait_for(lambda status: all(agent.files == files for agent in status.agents))
            time.sleep(SETTLE_S)
            before, began = processor_s([daemon.pid]), time.monotonic()
            time.sleep(seconds)
            used = processor_s([daemon.pid]) - before
            return IdleCost(
                agents,
                files,
                resident_mb(daemon.pid),
                100 * used / (time.monotonic() - began),
                len(os.listdir(f"/proc/{daemon.pid}/fd")),
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    found = [measure(count, wanted.files, wanted.seconds) for count in dict.fromkeys((1, wanted.agents))]
    if wanted.json:
        print(json.dumps([asdict(each) for each in found]))
        return
    for each in found:
        print(
            f"{each.agents:>3} agents, {each.files} notes each: {each.rss_mb:.1f} MB resident (bar {BAR_MB:.0f}), "
            f"{each.cpu_percent:.2f} % of a core (bar {BAR_CPU_PERCENT}), {each.descriptors} descriptors"
        )


if __name__ == "__main__":
    main()
