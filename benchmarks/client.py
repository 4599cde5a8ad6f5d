"""Cost of a client: a small request, single and concurrent, and the import.

    python -m benchmarks.client [--rounds 500]

The daemon's server runs in a thread of this process over a memory that answers at once: client, wire and server are
measured, and no search.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from memd_client import Client, aio
from memd_client import trio as trio_client
from tests.support.sockets import ServerThread, short_directory

AT_ONCE = 16
"""Concurrent requests of the second measurement."""

IMPORTS = {
    "memd_client": "import memd_client",
    "memd_client.aio": "import memd_client.aio",
    "asyncio alone": "import asyncio",
    "memd_client.trio": "import memd_client.trio",
    "trio alone": "import trio",
}


@contextmanager
def server() -> Iterator[Path]:
    """Yield the socket of a server that answers at once."""
    with short_directory() as directory, ServerThread(directory / "s") as running:
        yield running.path


def blocking(path: Path, rounds: int) -> tuple[list[float], float]:
    """Return milliseconds of each single request, and concurrent requests per second."""
    with Client(path) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        alone = [timed(lambda: client.search("x")) for _ in range(rounds)]
        started = time.perf_counter()
        list(pool.map(client.search, ["x"] * rounds))
        return alone, rounds / (time.perf_counter() - started)


async def with_asyncio(path: Path, rounds: int) -> tuple[list[float], float]:
    """Return the same for asyncio."""

    async def search_together(client: Any) -> None:
        await asyncio.gather(*(client.search("x") for _ in range(AT_ONCE)))

    async with aio.AsyncioClient(path) as client:
        return await measured(client, rounds, search_together)


async def with_trio(path: Path, rounds: int) -> tuple[list[float], float]:
    """Return the same for trio."""

    async def search_together(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(client.search, "x")

    async with trio_client.TrioClient(path) as client:
        return await measured(client, rounds, search_together)


async def measured(
    client: Any, rounds: int, search_together: Callable[[Any], Awaitable[None]]
) -> tuple[list[float], float]:
    """Return milliseconds per single request, and concurrent requests per second."""
    alone = []
    for _ in range(rounds):
        started = time.perf_counter()
        await client.search("x")
        alone.append((time.perf_counter() - started) * 1000)
    started = time.perf_counter()
    for _ in range(rounds // AT_ONCE):
        await search_together(client)
    return alone, rounds // AT_ONCE * AT_ONCE / (time.perf_counter() - started)


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def import_ms(program: str, tries: int = 9) -> float:
    """Return the milliseconds that a program adds to a bare interpreter."""

    def fresh(code: str) -> float:
        return min(
            timed(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(tries)
        )

    return fresh(program) - fresh("pass")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds
    with server() as path:
        figures = {
            "blocking": blocking(path, rounds),
            "asyncio": asyncio.run(with_asyncio(path, rounds)),
            "trio": trio.run(with_trio, path, rounds),
        }
    print(f"{'client':<10}{'median ms':>11}{'p99 ms':>9}{f'{AT_ONCE} at once, a second':>26}")
    for name, (alone, rate) in figures.items():
        p99 = sorted(alone)[len(alone) * 99 // 100]
        print(f"{name:<10}{statistics.median(alone):>11.3f}{p99:>9.3f}{rate:>26,.0f}")
    for name, program in IMPORTS.items():
        print(f"import {name:<18}{import_ms(program):>8.1f} ms")


if __name__ == "__main__":
    main()
