"""Pytest configuration: asynchronous tests run on trio; long runs try more examples of properties."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import settings
from trio.testing import MockClock

if TYPE_CHECKING:
    from tests.support.sshd import SshServer

settings.register_profile("usual", max_examples=40, deadline=None)
settings.register_profile("long", max_examples=400, deadline=None)

SLOWEST = (
    "interop/test_openclaw_curated.py",
    "interop/test_page.py",
    "daemon/test_hostile_settings.py",
    "interop/test_installed_packages.py",
    "daemon/test_watching.py",
    "daemon/test_freshness.py",
    "daemon/test_fault_matrix.py",
    "interop/",
    "daemon/",
    "retrieval/",
    "unit/embedding/",
)
"""Files that take half a minute or more, then folders of files that take seconds."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of examples by the marker expression."""
    settings.load_profile("usual" if config.option.markexpr == "not long" else "long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first: one at the end would leave all other workers idle."""
    items.sort(key=lambda item: _place(item.path.relative_to(Path(__file__).parent).as_posix()))


def _place(file: str) -> int:
    """Return the position of a file: its own in `SLOWEST`, or its folder's."""
    found = (place for place, start in enumerate(SLOWEST) if file.startswith(start))
    return next(found, len(SLOWEST))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run an asynchronous test, or each example of an asynchronous property, on an event loop of its own."""
    given = getattr(pyfuncitem.obj, "hypothesis", None)
    if given is not None and iscoroutinefunction(given.inner_test):
        given.inner_test = _on_trio(given.inner_test)
    elif iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = _on_trio(pyfuncitem.obj)


def _on_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Return a blocking function that runs an asynchronous one."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        trio.run(partial(test, *arguments, **named), clock=named.get("autojump_clock"))

    return run


@pytest.fixture
def autojump_clock() -> MockClock:
    """The clock of an asynchronous test that skips waits."""
    return MockClock(autojump_threshold=0)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A private directory with a path short enough for a socket."""
    from tests.support.sockets import short_directory  # here, because it imports the whole daemon

    with short_directory() as path:
        yield path


@pytest.fixture(scope="module")
def sshd() -> Iterator[SshServer]:
    """An sshd on loopback; see `tests.support.sshd`."""
    from tests.support.sshd import SshServer

    with SshServer() as server:
        yield server
