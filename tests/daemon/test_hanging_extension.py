"""A vector extension that never returns from loading, in a real daemon."""

from __future__ import annotations

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.libraries import compile_library
from tests.support.state_homes import StateHome

SOURCE = """
#include <unistd.h>
int sqlite3_extension_init(void *db, char **error, const void *api) {
    for (;;) sleep(1000);
}
"""


@pytest.mark.long  # the daemon's load timeout is ten seconds
def test_hanging_extension_costs_no_result_and_is_reported() -> None:
    vector = {"store": {"vector": {"extensionPath": str(compile_library(SOURCE))}}}
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none", **vector}}}}
    with StateHome(settings) as home:
        home.note("MEMORY.md", "The ferry leaves at nine.\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert client.search("ferry", deadline_ms=5_000).hits
            assert "no answer in 10 s" in client.status().sqlite_vec
            assert daemon.stop() == 0
