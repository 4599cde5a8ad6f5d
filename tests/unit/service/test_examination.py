"""The daemon's report on the installation: timeouts, failures, one at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio

from memd.service import examination
from memd.service.examination import Examination


def test_hanging_report_is_none_and_blocks_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    started: list[int] = []

    def hang() -> dict[str, Any]:
        started.append(threading.get_ident())
        go_on.wait(30)
        return {"version": "1"}

    async def ask() -> list[dict[str, Any] | None]:
        made = Examination()
        replies = [await made.examine() for _ in range(3)]
        assert len(started) == 1
        go_on.set()
        monkeypatch.setattr(examination, "EXAMINE_S", 30.0)
        return [*replies, await made.examine()]

    monkeypatch.setattr(examination, "_report", hang)
    monkeypatch.setattr(examination, "EXAMINE_S", 0.05)

    assert trio.run(ask) == [None, None, None, {"version": "1"}]


def test_failed_report_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> dict[str, Any]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(examination, "_report", fail)

    async def ask() -> dict[str, Any] | None:
        return await Examination().examine()

    assert trio.run(ask) is None
