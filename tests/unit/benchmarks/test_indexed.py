"""A sync that did less than is to be measured is no figure."""

from __future__ import annotations

import pytest

from benchmarks.indexed import StateError, only_indexed
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome


def test_a_whole_sync_is_taken_and_one_that_knows_other_files_is_refused() -> None:
    with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
        home.note("memory/a.md", "bread needs flour\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            reply = client.index()

    assert only_indexed(reply, 1).chunks == 1
    with pytest.raises(StateError, match="1 files indexed of 2"):
        only_indexed(reply, 2)
