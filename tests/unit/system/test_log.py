"""The log: one JSON object per event, on one line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memd.system.log import configure_log, log, structlog

LEVELS = ("debug", "info", "warning", "error")


@pytest.fixture(autouse=True)
def _configuration() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_event_is_one_line_of_json_with_level_and_utc_time() -> None:
    configure_log("info", stream := io.StringIO())

    log.warning("index.slow", agent="main", path=Path("a\nb"), text="\ud800 ü")

    line = stream.getvalue()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert line.isascii()
    event = json.loads(line)
    moment = datetime.fromisoformat(event.pop("timestamp"))
    assert moment.utcoffset() == timedelta(0)
    assert event == {
        "agent": "main",
        "path": repr(Path("a\nb")),
        "text": "\ud800 ü",
        "event": "index.slow",
        "level": "warning",
    }


@pytest.mark.parametrize("level", LEVELS)
def test_events_below_the_level_are_skipped(level: str) -> None:
    configure_log(level, stream := io.StringIO())

    for name in LEVELS:
        getattr(log, name)("test.event")

    written = [json.loads(line)["level"] for line in stream.getvalue().splitlines()]
    assert written == list(LEVELS[LEVELS.index(level) :])


def test_exceptions_are_logged_with_their_traceback() -> None:
    configure_log("error", stream := io.StringIO())

    try:
        raise OSError("disk")
    except OSError:
        log.exception("test.crashed", agent="main")

    event = json.loads(stream.getvalue())
    assert event["exception"].startswith("Traceback (most recent call last):")
    assert event["exception"].endswith("OSError: disk")
    assert (event["level"], event["agent"]) == ("error", "main")


def test_import_leaves_rich_and_asyncio_to_those_who_use_them() -> None:
    code = """
import sys, memd.system.log
assert sys.modules.keys().isdisjoint({"rich", "asyncio"})
import asyncio, rich.console
asyncio.run(asyncio.sleep(0))
memd.system.log.log.warning("test.event")
"""
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "test.event" in ran.stdout
