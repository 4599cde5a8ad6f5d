"""How hard properties are tried: some examples each in the usual run, many with `scripts/test --long`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("usual", max_examples=40, deadline=None)
settings.register_profile("long", max_examples=400, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Choose by what is left out."""
    settings.load_profile("usual" if config.option.markexpr == "not long" else "long")


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A private directory for a socket: where the tests' own files are, its path may be too long for one."""
    from tests.support.sockets import short_directory  # with all of the daemon, for those who want it alone

    with short_directory() as path:
        yield path
