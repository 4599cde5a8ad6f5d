"""One request and its reply by httpx. Only `http` imports it, with the first request: httpx takes 4 MB."""

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
"""For zlib: gzip's header or zlib's own."""

_PIECE_BYTES: Final = 256 * 1024


def make_client(trust_env: bool) -> httpx.AsyncClient:
    """Return a client."""
    for name in ("httpx", "httpcore"):  # they log URLs and headers, which may hold a password or the key
        logging.getLogger(name).setLevel(logging.WARNING)
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=8, keepalive_expiry=30.0)
    try:
        return httpx.AsyncClient(trust_env=trust_env, http2=False, follow_redirects=False, limits=limits)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:  # its text may hold a password
        raise ProviderUnreachableError(
            f"the proxy or certificate settings in the environment can't be used ({type(error).__name__})",
            hint="Correct or unset ALL_PROXY, HTTPS_PROXY, HTTP_PROXY (http:// or https://, not socks) and "
            "SSL_CERT_FILE in the daemon's environment.",
        ) from None


async def exchange(
    client: httpx.AsyncClient, request: ApiRequest, timeouts: Timeouts, *, host: str, max_bytes: int
) -> HttpReply:
    """Send a request and read its reply."""
    timeout = httpx.Timeout(
        connect=timeouts.connect_s, read=timeouts.read_s, write=timeouts.write_s, pool=timeouts.total_s
    )
    with _mapped(host, timeouts, request.redactor):
        headers = httpx.Headers(dict(request.headers))
        headers["Accept-Encoding"] = "gzip"  # what is read here in bounded pieces
        url = httpx.URL(request.url)
        if "authorization" in headers and url.userinfo:  # httpx would put these into the header's place
            url = url.copy_with(username="", password="")
        sending = client.build_request(
            request.method, url, headers=headers, content=request.body, timeout=timeout
        )
        sending.stream = BodyPieces(request.body)
        response = await client.send(sending, stream=True)
        async with contextlib.aclosing(response):
            body = BoundedBody(response.headers.get("content-encoding", ""), max_bytes)
            # What isn't read to its end is cancelled, not left: httpx's generators end only by an exception.
            with trio.CancelScope() as rest:
                async for piece in response.aiter_raw():
                    if not body.feed(piece):
                        rest.cancel()
        whole = body.whole()
    if whole is None:
        raise ProviderReplyError(f"{host} answered with more than {size(max_bytes)}")
    return HttpReply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, whole)


@contextlib.contextmanager
def _mapped(host: str, timeouts: Timeouts, redactor: Redactor) -> Iterator[None]:
    """Turn what httpx and zlib raise into our errors. No text goes along that may hold a header or a URL."""
    try:
        yield
    except httpx.ConnectTimeout:
        raise ProviderUnreachableError(
            f"{host} accepted no connection within {timeouts.connect_s:g} s"
        ) from None
    except httpx.ReadTimeout:
        raise ProviderUnreachableError(f"{host} sent nothing for {timeouts.read_s:g} s") from None
    except httpx.WriteTimeout:
        raise ProviderUnreachableError(f"{host} took nothing for {timeouts.write_s:g} s") from None
    except httpx.PoolTimeout:
        raise ProviderUnreachableError(f"no connection to {host} became free in time") from None
    except httpx.ProxyError as error:
        raise ProviderUnreachableError(
            f"the proxy before {host} refused: {redactor.clean(str(error))}"
        ) from None
    except httpx.ConnectError as error:
        raise ProviderUnreachableError(f"{host} can't be reached: {redactor.clean(str(error))}") from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise ProviderUnreachableError(
            "the provider's address is no URL that can be asked",
            hint="Correct remote.baseUrl: it begins with http:// or https://.",
        ) from None
    except (httpx.LocalProtocolError, UnicodeEncodeError):
        raise ProviderAuthError(
            f"{host} was not asked: the key or a header holds characters that HTTP can't carry",
            hint="Correct the key and remote.headers: look for quotes, line ends and spaces in them.",
        ) from None
    except zlib.error:
        raise ProviderUnreachableError(f"{host} sent a body that can't be decompressed") from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ProviderUnreachableError(f"the connection to {host} broke ({type(error).__name__})") from None


class BodyPieces(httpx.AsyncByteStream):
    """A request's body in pieces, so that the patience for writing counts from one to the next.

    No generator: one that is left in the middle would have to be closed, and httpx doesn't.
    """

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._at = 0

    def __aiter__(self) -> Self:
        self._at = 0
        return self

    async def __anext__(self) -> bytes:
        piece = bytes(self._body[self._at : self._at + _PIECE_BYTES])
        self._at += len(piece)
        if not piece:
            raise StopAsyncIteration
        return piece


class BoundedBody:
    """A reply's body, decompressed; a zip bomb is inflated to one byte above the limit, and no further."""

    def __init__(self, coding: str, max_bytes: int) -> None:
        name = coding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise zlib.error(name)
        self._engine = None if name in ("", "identity") else zlib.decompressobj(_ANY_HEADER)
        self._most = max_bytes
        self._data = bytearray()
        self._begun = self._broken = False

    def feed(self, piece: bytes) -> bool:
        """Take a piece; return whether more is wanted."""
        if not self._broken and len(self._data) <= self._most:
            self._begun = True
            try:
                self._data += self._engine.decompress(piece, self._most + 1) if self._engine else piece
            except zlib.error:
                self._broken = True
        return not self._broken and len(self._data) <= self._most

    def whole(self) -> bytes | None:
        """Return the body, None if it is above the limit."""
        if len(self._data) > self._most:
            return None
        if self._broken or (self._begun and self._engine and not self._engine.eof):
            raise zlib.error("broken")
        return bytes(self._data)
