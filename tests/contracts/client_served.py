"""A client of a real server, for the contracts that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.sockets import ServerThread, short_directory


class ServedClient:
    """Base class of the contracts of clients."""

    def make_client(self, path: Path, **options: Any) -> Any:
        """Return a client with the methods of `blocking.Client`."""
        raise NotImplementedError

    @pytest.fixture
    def server(self) -> Iterator[ServerThread]:
        """A real server over a fake memory."""
        with short_directory() as directory, ServerThread(directory / "s") as server:
            yield server

    @pytest.fixture
    def client(self, server: ServerThread) -> Iterator[Any]:
        """A client of that server."""
        with self.make_client(server.path) as client:
            yield client
