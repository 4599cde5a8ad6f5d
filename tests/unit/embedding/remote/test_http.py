"""Tests of HTTP: proxies, secrecy of keys, timeouts and broken replies."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zlib

import pytest
import trio

from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import HttpClient
from memd_client.errors import (
    MemdError,
    ProviderAuthError,
    ProviderReplyError,
    ProviderUnreachableError,
    ShuttingDownError,
)
from tests.support.http_peer import KEY, LONG, Behaviour, reply_with, request, run_peer, send_to

PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


# --- successful requests ----------------------------------------------------------------------------


def test_reply_of_any_status_is_returned_with_lower_case_headers() -> None:
    outcome, peer = send_to(reply_with("429 Too Many Requests", b'{"error":1}', Retry_After="40", X_More="1"))
    assert isinstance(outcome, HttpReply)
    assert (outcome.status, outcome.body) == (429, b'{"error":1}')
    assert outcome.headers["retry-after"] == "40"
    assert outcome.headers["x-more"] == "1"
    assert len(peer.asked) == 1


def test_request_is_sent_unchanged() -> None:
    _, peer = send_to(reply_with("200 OK", b"{}"), headers={"X-Own": "yes"})
    head, _, body = peer.asked[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/embeddings HTTP/1.1"
    assert f"Authorization: Bearer {KEY}".encode() in lines
    assert b"X-Own: yes" in lines
    assert body == b'{"input":["a"]}'


def test_get_and_delete_are_sent_without_a_body() -> None:
    async def run() -> list[bytes]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            await http.send(ApiRequest("GET", peer.url, {}), LONG)
            await http.send(ApiRequest("DELETE", peer.url, {}), LONG)
            return peer.asked

    asked = trio.run(run)
    assert asked[0].startswith(b"GET /v1/embeddings HTTP/1.1\r\n")
    assert asked[1].startswith(b"DELETE /v1/embeddings HTTP/1.1\r\n")
    assert all(request.endswith(b"\r\n\r\n") for request in asked)


def test_connection_is_reused() -> None:
    async def run() -> int:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            for _ in range(3):
                await http.send(request(peer.url), LONG)
            return peer.connections

    assert trio.run(run) == 1


def test_compressed_reply_is_inflated() -> None:
    for coding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        outcome, _ = send_to(reply_with("200 OK", pack(b"x" * 5000), Content_Encoding=coding))
        assert isinstance(outcome, HttpReply)
        assert outcome.body == b"x" * 5000


def test_empty_reply_with_content_encoding_is_accepted() -> None:
    outcome, _ = send_to(reply_with("401 Unauthorized", b"", Content_Encoding="gzip"))
    assert isinstance(outcome, HttpReply)
    assert (outcome.status, outcome.body) == (401, b"")


def test_only_supported_encodings_are_accepted() -> None:
    _, peer = send_to(reply_with("200 OK", b"{}"), headers={"Accept-Encoding": "br, zstd"})
    accepted = [line for line in peer.asked[0].split(b"\r\n") if line.lower().startswith(b"accept-encoding")]
    assert [line.split(b": ")[1] for line in accepted] == [b"gzip"]


async def test_concurrent_requests_all_succeed() -> None:
    statuses = []

    async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):

        async def one() -> None:
            statuses.append((await http.send(request(peer.url), LONG)).status)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
    assert len(statuses) == 20


# --- secrecy of the key -----------------------------------------------------------------------------


def test_redirect_is_not_followed() -> None:
    async def run() -> tuple[int, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (elsewhere, other):
            moved = reply_with("307 Temporary Redirect", Location=elsewhere.url)
            async with run_peer(moved) as (peer, http):
                reply = await http.send(request(peer.url), LONG)
                await other.aclose()
                return reply.status, len(elsewhere.asked)

    assert trio.run(run) == (307, 0)


def test_environment_proxy_is_used_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> bytes:
        async with run_peer(reply_with("200 OK", b"{}")) as (proxy, http):
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            await http.send(request("http://provider.invalid/v1/embeddings"), LONG)
            return proxy.asked[0]

    assert trio.run(run).startswith(b"POST http://provider.invalid/v1/embeddings HTTP/1.1\r\n")


def test_environment_proxy_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[int, int]:
        async with run_peer(reply_with("502 Bad Gateway")) as (proxy, unused):
            for name in ("HTTP_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
                reply = await http.send(request(peer.url), LONG)
                await unused.aclose()
                return reply.status, len(proxy.asked)

    assert trio.run(run) == (200, 0)


@pytest.mark.parametrize("proxy", ["socks5://user:s3cret@127.0.0.1:1", "ftp://user:s3cret@127.0.0.1:1"])
def test_unusable_proxy_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    async def run() -> tuple[ProviderUnreachableError, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            with pytest.raises(ProviderUnreachableError) as caught:
                await http.send(request("https://provider.invalid/v1"), LONG)
            return caught.value, (
                await http.send(request(peer.url), LONG)
            ).status  # no proxy is needed for this machine

    error, status = trio.run(run)
    assert "ALL_PROXY" in error.hint
    assert "s3cret" not in error.message + error.hint
    assert status == 200


async def test_unreadable_certificates_are_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    http = HttpClient()
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request("https://provider.invalid/v1"), LONG)
    await http.aclose()
    assert "SSL_CERT_FILE" in caught.value.hint


@pytest.mark.parametrize("key", ["sk-‘curly’", "sk-0123\r\nX-Injected: yes", "sk-0123\n", "sk-\0"])
def test_key_unfit_for_http_is_not_sent_and_not_shown(key: str) -> None:
    outcome, peer = send_to(reply_with("200 OK", b"{}"), headers={"Authorization": f"Bearer {key}"})
    assert type(outcome) is ProviderAuthError
    assert "sk-" not in outcome.message + outcome.hint + repr(outcome) + repr(outcome.__cause__)
    assert peer.asked == []


def test_login_in_the_url_does_not_replace_the_key() -> None:
    async def run() -> list[bytes]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            url = peer.url.replace("http://", "http://user:s3cret@")
            await http.send(request(url), LONG)
            await http.send(ApiRequest("POST", url, {}, b"{}"), LONG)
            return peer.asked

    with_key, without = trio.run(run)
    assert f"Authorization: Bearer {KEY}".encode() in with_key.split(b"\r\n")
    assert b"Authorization: Basic dXNlcjpzM2NyZXQ=" in without.split(b"\r\n")


@pytest.mark.parametrize(
    "url", ["", "api.openai.com/v1", "localhost:11434/v1", "ftp://127.0.0.1/", "http://", "http://[::1"]
)
async def test_invalid_address_is_an_error_with_a_hint(url: str) -> None:
    http = HttpClient()
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request(url), LONG)
    await http.aclose()
    assert "endpoint.baseUrl" in caught.value.hint


# --- warm-up and closing ----------------------------------------------------------------------------


def test_warm_up_loads_the_client_without_a_request() -> None:
    async def run() -> tuple[str, int, str, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            await http.warm_up(peer.url)
            ready, asked = repr(http), len(peer.asked)
            await http.send(request(peer.url), LONG)
            return ready, asked, repr(http), len(peer.asked)

    assert trio.run(run) == ("<HttpClient 1 clients>", 0, "<HttpClient 1 clients>", 1)


async def test_warm_up_error_is_raised_by_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    http = HttpClient()
    await http.warm_up("https://provider.invalid/v1")
    with pytest.raises(ProviderUnreachableError):
        await http.send(request("https://provider.invalid/v1"), LONG)
    await http.aclose()


def test_after_closing_nothing_is_sent() -> None:
    async def run() -> int:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            await http.send(request(peer.url), LONG)
            await http.aclose()
            await http.aclose()
            with pytest.raises(ShuttingDownError):
                await http.send(request(peer.url), LONG)
            return len(peer.asked)

    assert trio.run(run) == 1


async def test_closing_ends_a_request_under_way() -> None:
    asked = trio.Event()

    async def waits(stream: trio.SocketStream) -> None:
        asked.set()
        await trio.sleep_forever()

    caught: list[MemdError] = []
    async with run_peer(waits) as (peer, http), trio.open_nursery() as nursery:

        async def ask() -> None:
            try:
                await http.send(request(peer.url), LONG)
            except MemdError as error:
                caught.append(error)

        nursery.start_soon(ask)
        await asked.wait()
        await http.aclose()
    assert isinstance(caught[0], (ProviderUnreachableError, ShuttingDownError))


def test_httpx_is_not_loaded_before_the_first_request() -> None:
    modules = ("http", "failures", "providers.table")
    imports = "\n".join(f"import memd.embedding.remote.{name}" for name in modules)
    script = f"import sys\n{imports}\nprint('httpx' in sys.modules, 'httpcore' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, check=True, timeout=120
    )
    assert done.stdout.split() == [b"False", b"False"]


SHORT = Timeouts(connect_s=5, read_s=0.3, write_s=0.3, total_s=10)


def assert_unreachable(outcome: HttpReply | MemdError, *words: str) -> None:
    assert type(outcome) is ProviderUnreachableError, outcome
    for word in words:
        assert word in outcome.message
    assert KEY not in outcome.message + outcome.hint + repr(outcome)


# --- timeouts ---------------------------------------------------------------------------------------


async def hangs(stream: trio.SocketStream) -> None:
    await trio.sleep_forever()


async def drips(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await stream.send_all(b" ")
        await trio.sleep(0.02)


async def drips_headers(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\n")
    while True:
        await stream.send_all(b"X-More: 1\r\n")
        await trio.sleep(0.02)


def test_silent_provider_times_out() -> None:
    outcome, peer = send_to(hangs, SHORT)
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "sent nothing for 0.3 s")


@pytest.mark.parametrize("behaviour", [drips, drips_headers])
def test_slow_reply_ends_at_the_total_timeout(behaviour: Behaviour) -> None:
    outcome, peer = send_to(behaviour, Timeouts(read_s=20, total_s=0.4))
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "did not complete its reply within 0.4 s")


async def test_provider_that_reads_nothing_times_out() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]  # the peer neither accepts nor reads
    http = HttpClient()
    url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/v1"
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request(url, b"x" * 30_000_000), SHORT)
    await http.aclose()
    await listener.aclose()
    assert_unreachable(caught.value, "0.3 s")


def test_cancelled_request_ends_at_once_and_the_next_one_works() -> None:
    async def run() -> int:
        asked = trio.Event()

        async def hangs_once(stream: trio.SocketStream) -> None:
            if not asked.is_set():
                asked.set()
                await trio.sleep_forever()
            await reply_with("200 OK", b"{}")(stream)

        async with run_peer(hangs_once) as (peer, http):
            with trio.fail_after(120):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(http.send, request(peer.url), LONG)
                    await asked.wait()
                    nursery.cancel_scope.cancel()
            return (await http.send(request(peer.url), LONG)).status

    assert trio.run(run) == 200


# --- broken replies ---------------------------------------------------------------------------------


async def test_refused_connection_names_the_host() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    http = HttpClient()
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request(f"http://127.0.0.1:{port}/v1"), LONG)
    await http.aclose()
    assert_unreachable(caught.value, "127.0.0.1:", "can't be reached")


async def resets(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 10)
    stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    await stream.aclose()


async def ends_early(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 10)
    await stream.aclose()


async def ends_a_chunk_early(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe")
    await stream.aclose()


async def ends_before_a_word(stream: trio.SocketStream) -> None:
    await stream.aclose()


async def speaks_something_else(stream: trio.SocketStream) -> None:
    await stream.send_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await stream.aclose()


@pytest.mark.parametrize(
    "behaviour", [resets, ends_early, ends_a_chunk_early, ends_before_a_word, speaks_something_else]
)
def test_broken_connection_is_named(behaviour: Behaviour) -> None:
    outcome, peer = send_to(behaviour)
    assert_unreachable(outcome, f"the connection to 127.0.0.1:{peer.port} broke")


def test_errors_name_the_host_without_the_password_before_it() -> None:
    async def run() -> ProviderUnreachableError:
        async with run_peer(ends_early) as (peer, http):
            url = peer.url.replace("http://", "http://user:s3cret@")
            with pytest.raises(ProviderUnreachableError) as caught:
                await http.send(request(url), LONG)
            return caught.value

    error = trio.run(run)
    assert "127.0.0.1" in error.message
    assert "s3cret" not in error.message


def test_body_is_read_up_to_its_content_length() -> None:
    async def lies(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}{}{}")
        await stream.aclose()

    outcome, _ = send_to(lies)
    assert isinstance(outcome, HttpReply)
    assert outcome.body == b"{}"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"this is no gzip"),
        ("gzip", gzip.compress(b"x" * 5000, mtime=0)[:-12]),
        ("deflate", b"\0\1\2\3"),
        ("br", b"nobody asked for this"),
    ],
)
def test_broken_compression_is_an_error(coding: str, body: bytes) -> None:
    outcome, peer = send_to(reply_with("200 OK", body, Content_Encoding=coding))
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "can't be decompressed")


# --- limits -----------------------------------------------------------------------------------------


def test_huge_body_is_abandoned_at_the_limit() -> None:
    sent = 0

    async def pours(stream: trio.SocketStream) -> None:
        nonlocal sent
        await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await stream.send_all(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536

    outcome, peer = send_to(pours, max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
    assert f"127.0.0.1:{peer.port} sent more than 1.00 MB" in outcome.message
    assert sent < 30_000_000  # what fits into the buffers of two sockets, not the whole body


def test_body_of_exactly_the_limit_is_accepted() -> None:
    outcome, _ = send_to(reply_with("200 OK", b"x" * 1000), max_bytes=1000)
    assert isinstance(outcome, HttpReply)
    outcome, _ = send_to(reply_with("200 OK", b"x" * 1001), max_bytes=1000)
    assert type(outcome) is ProviderReplyError


def test_decompression_bomb_is_abandoned_at_the_limit() -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    script = f"""
import resource, sys, trio
sys.path[:0] = {sys.path!r}
from memd.embedding.remote.http_exchange import BoundedBody
bomb = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wanted = BoundedBody("gzip", 1_000_000).feed(bomb)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(int(wanted), grown * (1 if sys.platform == "darwin" else 1024))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input=bomb, capture_output=True, check=True, timeout=120
    )
    wanted, grown = map(int, done.stdout.split())
    assert not wanted
    assert grown < 30_000_000
    outcome, _ = send_to(reply_with("200 OK", bomb, Content_Encoding="gzip"), max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
