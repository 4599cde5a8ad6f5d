"""No test asserts a speed, so that the tests pass on a machine of any speed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.growth import check_linear

TESTS: Final = Path(__file__).parents[1]

REAL: Final = frozenset({"monotonic", "monotonic_ns", "time", "time_ns"})
STOPWATCHES: Final = frozenset({"perf_counter", "process_time", "thread_time"})
"""Clocks whose only use is to measure; also with the suffix `_ns`."""

CLOCK_WORDS: Final = re.compile(r"import time|from time|current_time|perf_counter|(process|thread)_time")
"""A file without any of these reads no clock; most files are not parsed."""

ALLOWED: Final = {
    "support/growth.py": "compares the work for two sizes, with a wide margin, on one machine in one run",
    "daemon/test_soak.py": "says when the soak's phases begin; what it compares is memory over time",
    "unit/embedding/test_owner.py": "a lower bound: a hung process is not killed before its deadline",
    "unit/embedding/test_out_of_memory.py": "a lower bound: starts are no closer than their back-off",
    "unit/sources/watch/test_watcher.py": "the time that passed bounds a count: slower machines may count more",
}


def clock_of(node: ast.expr) -> str:
    """Return the clock that a call reads, such as `time.monotonic`, else ''."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return ""
    owner = node.func.value
    return f"{owner.id}.{node.func.attr}" if isinstance(owner, ast.Name) else ""


def elapsed_times(source: str) -> Iterator[int]:
    """Yield the lines that use a stopwatch or subtract an earlier reading of a clock.

    The time left until a deadline (`deadline - time.monotonic()`) is allowed. A test that uses a `MockClock` controls
    trio's clock.
    """
    owns_trio = "MockClock" in source
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.removesuffix("_ns") in STOPWATCHES:
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield node.lineno  # its clocks would be called by bare names
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            owner, _, name = clock_of(node.left).partition(".")
            if (owner == "time" and name in REAL) or (
                (owner, name) == ("trio", "current_time") and not owns_trio
            ):
                yield node.lineno


def test_tests_measure_no_durations() -> None:
    found = {
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if str(path.relative_to(TESTS)) not in ALLOWED
        if CLOCK_WORDS.search(source := path.read_text(encoding="utf-8"))
        for line in elapsed_times(source)
    }
    assert not found, "count steps, compare growth (tests.support.growth), or measure in benchmarks/"


def test_allowed_files_use_clocks() -> None:
    assert not [
        name for name in ALLOWED if not list(elapsed_times((TESTS / name).read_text(encoding="utf-8")))
    ]


def test_elapsed_times_are_found_and_times_left_are_allowed() -> None:
    for bad in (
        "import time\ntime.perf_counter()",
        "import time\nassert time.monotonic() - began < 5",
        "from time import monotonic",
        "import trio\ntook = trio.current_time() - began",
    ):
        assert list(elapsed_times(bad)), bad
    for good in (
        "time.monotonic() < deadline",
        "deadline - time.monotonic()",
        "# MockClock\ntrio.current_time() - a",
    ):
        assert not list(elapsed_times(good)), good


def test_quadratic_work_is_distinguished_from_linear_work() -> None:
    check_linear(range, list, 200_000)
    with pytest.raises(AssertionError, match="4 times as much took"):
        check_linear(range, lambda numbers: [0 for _ in numbers for _ in numbers], 300)
