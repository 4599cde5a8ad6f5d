"""What the machine says of its cores, its memory and that of a process."""

from __future__ import annotations

import os
from pathlib import Path

from memd.embedding.local.fit import physical_cores


def load_physical_cores() -> int:
    """Return how many physical cores this process may use; where the system doesn't say, logical ones."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    lists = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list"):
        try:
            lists.append(path.read_text(encoding="ascii"))
        except OSError:
            continue  # a core that is switched off
    return physical_cores(lists, allowed)


CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def load_memory_bytes(limit_file: Path = CGROUP_LIMIT) -> int:
    """Return the memory of this machine in bytes, or of the container this runs in where that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(memory, int(limit_file.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit
        return memory


def load_rss_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 where it is gone or the system doesn't say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
