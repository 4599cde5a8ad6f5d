"""Processes of peers: what they cost is theirs, and each ends by its deadline with all it started."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path

import pytest

from benchmarks.peers.child import ChildError, Driver, processor_ms, run_once

ENVIRON = {"PATH": os.defpath}

ECHO = """
import sys
import time
for line in sys.stdin:
    print('{"error": "no"}' if "bad" in line else line.strip(), flush=True)
"""


def test_a_run_tells_its_own_time_memory_and_output(tmp_path: Path) -> None:
    # given a program that works and holds 100 MB
    program = "held = b'x' * 100_000_000; print(sum(range(3_000_000)))"
    # when it is run
    run = run_once([sys.executable, "-c", program], ENVIRON, tmp_path, 60)
    # then it used a processor, and memory
    assert run.output == "4499998500000\n"
    assert run.cpu_ms > 10
    assert 100 < run.peak_mb < 1000


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="ended with 3: out of luck"):
        run_once(["/bin/sh", "-c", "echo out of luck >&2; exit 3"], ENVIRON, tmp_path, 60)


def test_a_run_beyond_its_deadline_is_killed(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="ended with -9"):
        run_once(["/bin/sh", "-c", "sleep 600"], ENVIRON, tmp_path, 0.2)


def test_a_driver_answers_line_by_line(tmp_path: Path) -> None:
    with Driver([sys.executable, "-c", ECHO], ENVIRON, tmp_path / "log") as driver:
        assert driver.ask({"n": 1}, 60) == {"n": 1}
        assert driver.ask({"n": 2}, 60) == {"n": 2}


def test_processor_time_is_that_of_the_process_asked_about() -> None:
    before_ms, own_ms = processor_ms(os.getpid()), time.process_time() * 1000
    sum(range(1_000_000))
    after_ms = processor_ms(os.getpid())
    assert before_ms <= own_ms < after_ms
    assert after_ms - before_ms > 1


def test_a_drivers_error_is_raised_and_it_goes_on(tmp_path: Path) -> None:
    with Driver([sys.executable, "-c", ECHO], ENVIRON, tmp_path / "log") as driver:
        with pytest.raises(ChildError, match="no"):
            driver.ask({"bad": 1}, 60)
        assert driver.ask({"n": 2}, 60) == {"n": 2}


def test_a_driver_that_is_silent_or_gone_is_named(tmp_path: Path) -> None:
    with Driver(["/bin/sh", "-c", "read line; read line"], ENVIRON, tmp_path / "log") as driver:
        with pytest.raises(ChildError, match=r"silent for 0.1 s"):
            driver.ask({}, 0.1)
        with pytest.raises(ChildError, match="has ended"):
            driver.ask({}, 60)


def test_what_a_driver_started_ends_with_it(tmp_path: Path) -> None:
    # given a driver that started a process and ends by itself
    program = "sleep 600 & echo $!; read line"
    with Driver(["/bin/sh", "-c", program], ENVIRON, tmp_path / "log") as driver:
        started = os.pidfd_open(int(driver.read_line(60)))
    # then the other one ends, too
    assert select.select([started], [], [], 60)[0]
    os.close(started)
