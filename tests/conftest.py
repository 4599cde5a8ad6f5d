"""Settings of the test run: asynchronous tests run on trio, and properties try more examples with `--long`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import settings

settings.register_profile("usual", max_examples=40, deadline=None)
settings.register_profile("long", max_examples=400, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Choose by what is left out."""
    settings.load_profile("usual" if config.option.markexpr == "not long" else "long")


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
        trio.run(partial(test, *arguments, **named))

    return run


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A private directory for a socket: where the tests' own files are, its path may be too long for one."""
    from tests.support.sockets import short_directory  # with all of the daemon, for those who want it alone

    with short_directory() as path:
        yield path
