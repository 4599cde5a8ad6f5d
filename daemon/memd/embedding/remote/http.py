"""HTTP connections to all providers, with a deadline for every phase."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import trio

from memd.embedding.remote.catalog import is_loopback
from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd_client.errors import MemdError, ProviderUnreachableError, ShuttingDownError

if TYPE_CHECKING:
    import httpx  # 4 MB: an idle daemon without a remote provider must not load it

MAX_BYTES: Final = 64 * 1024 * 1024
"""The largest reply: 1,000 vectors of 3,072 numbers take about 60 MiB of JSON."""


class HttpClient:
    """The HTTP connections to all providers.

    Proxies of the environment are used, except for this machine. Redirects are not followed: they would carry the
    key to another host.

    Resources: connections are kept alive between requests; `aclose` closes them.
    """

    def __init__(self) -> None:
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._making = trio.Lock()
        self._closed = False

    def __repr__(self) -> str:
        return f"<HttpClient {'closed' if self._closed else f'{len(self._clients)} clients'}>"

    async def warm_up(self, url: str) -> None:
        """Load what the first request to an address needs; never fails."""
        with suppress(MemdError):
            await self._client(is_loopback(url))

    async def send(self, request: ApiRequest, timeouts: Timeouts, *, max_bytes: int = MAX_BYTES) -> HttpReply:
        """Return the reply to a request, of any status.

        Cancellation: closes the connection.
        """
        host = _host(request.url)
        with trio.move_on_after(timeouts.total_s):
            client = await self._client(is_loopback(request.url))
            from memd.embedding.remote.http_exchange import exchange

            try:
                return await exchange(client, request, timeouts, host=host, max_bytes=max_bytes)
            except RuntimeError:
                if not self._closed:
                    raise
                raise _closed_error() from None
        raise ProviderUnreachableError(f"{host} did not complete its reply within {timeouts.total_s:g} s")

    async def aclose(self) -> None:
        """Close all connections; idempotent."""
        self._closed = True
        while self._clients:
            await self._clients.popitem()[1].aclose()

    async def _client(self, loopback: bool) -> httpx.AsyncClient:
        """Return the client for this machine or for other ones."""
        async with self._making:
            if self._closed:
                raise _closed_error()
            if loopback not in self._clients:
                client = await trio.to_thread.run_sync(
                    _make_client, not loopback, limiter=trio.CapacityLimiter(1)
                )
                self._clients[loopback] = client
            return self._clients[loopback]


def _make_client(trust_env: bool) -> httpx.AsyncClient:
    """Load httpx and the certificates. Blocks for about 0.2 s."""
    from memd.embedding.remote.http_exchange import make_client

    return make_client(trust_env)


def _closed_error() -> ShuttingDownError:
    return ShuttingDownError("the connections to embedding providers are closed")


def _host(url: str) -> str:
    """Return host and port of a URL for a message, without user name and password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "the provider"
        return f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return "the provider"
