"""What tests of the page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Browser
from tests.support.chromium_page import memory_home, restore
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; tests that need it are skipped without it."""
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[StateHome, DaemonProcess]]:
    """A home and its daemon, which live as long as a module's tests."""
    with memory_home() as shared:
        yield shared


@pytest.fixture
def running(shared: tuple[StateHome, DaemonProcess]) -> tuple[StateHome, DaemonProcess]:
    """A home with notes and facts as they were at first, and its daemon."""
    restore(*shared)
    return shared
