"""What tests of the page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Browser
from tests.support.chromium_page import memory_home
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; a test that wants it is skipped where there is none."""
    with Browser() as browser:
        yield browser


@pytest.fixture
def running() -> Iterator[tuple[StateHome, DaemonProcess]]:
    """A home with notes and facts, and its daemon."""
    with memory_home() as running:
        yield running
