"""The machine of a part, so that figures of different machines are not compared."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import apsw
import msgspec

PACKAGES: Final = ("sqlite-vec", "numpy", "llama-cpp-python")

GIB: Final = 1024**3


class BenchmarkMachine(msgspec.Struct, frozen=True):
    """What figures depend on besides the code."""

    cores: int
    memory_gib: float
    cpu: str
    system: str
    python: str
    sqlite: str
    packages: dict[str, str]

    def sentence(self) -> str:
        """Return a description for the report."""
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return (
            f"{self.cores} cores ({self.cpu}), {self.memory_gib:.0f} GiB, {self.system}, "
            f"Python {self.python}, SQLite {self.sqlite}; {packages}."
        )


def this_machine() -> BenchmarkMachine:
    """Return the facts of this machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return BenchmarkMachine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gib=round(memory / GIB, 1),
        cpu=_cpu(),
        system=_system(),
        python=platform.python_version(),
        sqlite=apsw.sqlite_lib_version(),
        packages=dict(_versions()),
    )


def _versions() -> Iterator[tuple[str, str]]:
    yield "memd", version("memd-daemon")
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _cpu() -> str:
    """Return the processor's model; `platform` alone rarely knows it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    with suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.system()} {platform.release()}"
    return f"{platform.system()} {platform.release()}"
