"""An HTTP exchange with httpx, imported late because it takes 4 MB."""

from __future__ import annotations

import contextlib
import logging
import zlib
from collections.abc import Iterator
from typing import Final, Self

import httpx
import trio

from memd.embedding.redaction import Redactor
from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.system.units import size
from memd_client.errors import ProviderAuthError, ProviderReplyError, ProviderUnreachableError

_ANY_HEADER: Final = 47
"""Lets zlib accept gzip's header or its own."""

_PIECE_BYTES: Final = 256 * 1024


def make_client(trust_env: bool) -> httpx.AsyncClient:
    """Return a client that ignores redirects; `trust_env` enables proxies."""
    for name in ("httpx", "httpcore"):  # they log URLs and headers, which may contain secrets
        logging.getLogger(name).setLevel(logging.WARNING)
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=8, keepalive_expiry=30.0)
    try:
        return httpx.AsyncClient(trust_env=trust_env, http2=False, follow_redirects=False, limits=limits)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:  # its text may contain a password
        raise ProviderUnreachableError(
            f"the proxy or certificate settings in the environment can't be used ({type(error).__name__})",
            hint="correct or unset ALL_PROXY, HTTPS_PROXY, HTTP_PROXY (http:// or https://, not socks) and "
            "SSL_CERT_FILE in the daemon's environment",
        ) from None


async def exchange(
    client: httpx.AsyncClient, request: ApiRequest, timeouts: Timeouts, *, host: str, max_bytes: int
) -> HttpReply:
    """Send a request and read its reply."""
    timeout = httpx.Timeout(
        connect=timeouts.connect_s, read=timeouts.read_s, write=timeouts.write_s, pool=timeouts.total_s
    )
    with _mapped_errors(host, timeouts, request.redactor):
        headers = httpx.Headers(dict(request.headers))
        headers["Accept-Encoding"] = "gzip"  # the encoding that `BoundedBody` limits
        url = httpx.URL(request.url)
        if "authorization" in headers and url.userinfo:  # httpx would replace the header by these
            url = url.copy_with(username="", password="")
        sending = client.build_request(
            request.method, url, headers=headers, content=request.body, timeout=timeout
        )
        sending.stream = BodyPieces(request.body)
        response = await client.send(sending, stream=True)
        async with contextlib.aclosing(response):
            body = BoundedBody(response.headers.get("content-encoding", ""), max_bytes)
            # A reply that isn't read completely is cancelled: httpx's generators only end by an exception.
            with trio.CancelScope() as rest:
                async for piece in response.aiter_raw():
                    if not body.feed(piece):
                        rest.cancel()
        complete_body = body.complete()
    if complete_body is None:
        raise ProviderReplyError(f"{host} sent more than {size(max_bytes)}")
    return HttpReply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, complete_body)


@contextlib.contextmanager
def _mapped_errors(host: str, timeouts: Timeouts, redactor: Redactor) -> Iterator[None]:
    """Convert errors of httpx and zlib; messages contain no header and no URL."""
    try:
        yield
    except httpx.ConnectTimeout:
        raise ProviderUnreachableError(
            f"{host} accepted no connection within {timeouts.connect_s:g} s"
        ) from None
    except httpx.ReadTimeout:
        raise ProviderUnreachableError(f"{host} sent nothing for {timeouts.read_s:g} s") from None
    except httpx.WriteTimeout:
        raise ProviderUnreachableError(f"{host} received nothing for {timeouts.write_s:g} s") from None
    except httpx.PoolTimeout:
        raise ProviderUnreachableError(f"timed out waiting for a free connection to {host}") from None
    except httpx.ProxyError as error:
        raise ProviderUnreachableError(
            f"the proxy for {host} refused the connection: {redactor.clean(str(error))}"
        ) from None
    except httpx.ConnectError as error:
        raise ProviderUnreachableError(f"{host} can't be reached: {redactor.clean(str(error))}") from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise ProviderUnreachableError(
            "the provider's address is not a usable URL",
            hint="correct endpoint.baseUrl: it must begin with http:// or https://",
        ) from None
    except (httpx.LocalProtocolError, UnicodeEncodeError):
        raise ProviderAuthError(
            f"no request was sent to {host}: the key or a header contains characters that HTTP can't carry",
            hint="remove quotes, line breaks and spaces from the key and endpoint.headers",
        ) from None
    except zlib.error:
        raise ProviderUnreachableError(f"{host} sent a reply that can't be decompressed") from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ProviderUnreachableError(f"the connection to {host} broke ({type(error).__name__})") from None


class BodyPieces(httpx.AsyncByteStream):
    """A request's body in pieces, so that the write timeout applies to each piece.

    Not a generator: httpx doesn't close one that it leaves unfinished.
    """

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._offset = 0

    def __aiter__(self) -> Self:
        self._offset = 0
        return self

    async def __anext__(self) -> bytes:
        piece = bytes(self._body[self._offset : self._offset + _PIECE_BYTES])
        self._offset += len(piece)
        if not piece:
            raise StopAsyncIteration
        return piece


class BoundedBody:
    """Decompresses a body up to a limit, against decompression bombs."""

    def __init__(self, coding: str, max_bytes: int) -> None:
        name = coding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise zlib.error(name)
        self._decompressor = None if name in ("", "identity") else zlib.decompressobj(_ANY_HEADER)
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._has_data = self._is_broken = False

    def feed(self, piece: bytes) -> bool:
        """Add a piece; return whether to continue."""
        if not self._is_broken and len(self._data) <= self._max_bytes:
            self._has_data = True
            try:
                self._data += (
                    self._decompressor.decompress(piece, self._max_bytes + 1) if self._decompressor else piece
                )
            except zlib.error:
                self._is_broken = True
        return not self._is_broken and len(self._data) <= self._max_bytes

    def complete(self) -> bytes | None:
        """Return the complete body, None if it exceeds the limit."""
        if len(self._data) > self._max_bytes:
            return None
        if self._is_broken or (self._has_data and self._decompressor and not self._decompressor.eof):
            raise zlib.error("broken")
        return bytes(self._data)
