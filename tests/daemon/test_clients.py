"""The contract of all clients, against a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from tests.contracts.client_daemon import DaemonContract, contract_daemon
from tests.support.blocking_clients import BlockingAsyncioClient, BlockingTrioClient
from tests.support.daemon import DaemonProcess


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with contract_daemon() as running:
        yield running


class TestDaemonWithBlockingClient(DaemonContract):
    def make_client(self, path: Path, **options: Any) -> Client:
        return Client(path, **options)


class TestDaemonWithAsyncioClient(DaemonContract):
    def make_client(self, path: Path, **options: Any) -> BlockingAsyncioClient:
        return BlockingAsyncioClient(path, **options)


class TestDaemonWithTrioClient(DaemonContract):
    def make_client(self, path: Path, **options: Any) -> BlockingTrioClient:
        return BlockingTrioClient(path, **options)
