"""The machine's limits and clock, against what memd needs of them."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path
from typing import Any

from memd.cli.checks.finding import OK, WARNING, WRONG, Finding, first_of
from memd.cli.wording import count

Report = dict[str, Any]

AREA = "machine"

FEW_DESCRIPTORS = 512
"""A daemon with a dozen agents and as many clients stays below."""

DAEMONS_DESCRIPTORS = 8192
"""What a daemon raises its own limit to, where the hard one lets it."""

FULL_SHARE = 0.8

WATCHES_A_FOLDER = 2
"""One for the hints between searches, and one for what a search asks the kernel itself."""

EARLIEST_MS = 1_735_689_600_000
"""The first of January 2025: no clock that is right shows less."""


def check_watches(report: Report, proc: Path = Path("/proc")) -> list[Finding]:
    """Return whether the system gives as many file events as there are folders to watch."""
    folders = sum(agent.get("folders", 0) for agent in report["agents"])
    needed = folders * WATCHES_A_FOLDER
    try:
        limit = int((proc / "sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return []  # not Linux: there is no such limit
    text = f"{count(folders, 'folder')} to watch, twice each, of {limit:,} the system watches for all programs of yours"
    if needed > limit * FULL_SHARE:
        fix = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, needed * 2)}"
        return [Finding(AREA, "file events", WARNING, text, fix)]
    return [Finding(AREA, "file events", OK, text)]


def check_descriptors(pid: int, proc: Path = Path("/proc")) -> Finding:
    """Return whether there are file descriptors enough: of the daemon that runs, else of one started from here."""
    hard, used = resource.getrlimit(resource.RLIMIT_NOFILE)[1], 0
    soft = DAEMONS_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DAEMONS_DESCRIPTORS, hard)
    if pid:
        try:
            told = (proc / str(pid) / "limits").read_text()
            used = len(os.listdir(proc / str(pid) / "fd"))
            soft = int(re.findall(r"^Max open files +(\d+)", told, re.MULTILINE)[0])
        except (OSError, ValueError, IndexError):
            pass
    text = f"{used:,} of {soft:,} open files of the daemon" if used else f"{soft:,} open files allowed"
    if soft < FEW_DESCRIPTORS or used > soft * FULL_SHARE:
        fix = "Raise the limit: `LimitNOFILE=4096` of the service, or `ulimit -n 4096` before the daemon starts."
        return Finding(AREA, "open files", WARNING, text, fix)
    return Finding(AREA, "open files", OK, text)


def check_clock(report: Report, now_ms: int) -> Finding:
    """Return whether the clock can be right, by itself and by the files."""
    if now_ms < EARLIEST_MS:
        return Finding(AREA, "clock", WRONG, "it is years behind", "Set it: `timedatectl set-ntp true`.")
    late = [
        f"{agent['agent']}: {path}" for agent in report["agents"] for path in agent.get("from_the_future", ())
    ]
    if late:
        text = f"{count(len(late), 'file')} from the future, by more than a day: {first_of(late)}"
        fix = "Is the clock right? If it is: `touch` them, else they count as the newest."
        return Finding(AREA, "clock", WARNING, text, fix)
    return Finding(AREA, "clock", OK, "no file is from the future")
