"""Requests arrive through the configured proxies and give no key away; broken replies are errors in time."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zlib

import pytest
import trio

from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import Http
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


# --- what goes well ---------------------------------------------------------------------------------


def test_reply_of_any_status_comes_back_whole_with_lower_case_headers() -> None:
    outcome, peer = send_to(reply_with("429 Too Many Requests", b'{"error":1}', Retry_After="40", X_More="1"))
    assert isinstance(outcome, HttpReply)
    assert (outcome.status, outcome.body) == (429, b'{"error":1}')
    assert outcome.headers["retry-after"] == "40"
    assert outcome.headers["x-more"] == "1"
    assert len(peer.asked) == 1


def test_request_goes_out_as_it_was_made() -> None:
    _, peer = send_to(reply_with("200 OK", b"{}"), headers={"X-Own": "yes"})
    head, _, body = peer.asked[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/embeddings HTTP/1.1"
    assert f"Authorization: Bearer {KEY}".encode() in lines
    assert b"X-Own: yes" in lines
    assert body == b'{"input":["a"]}'


def test_get_and_delete_go_out_without_a_body() -> None:
    async def run() -> list[bytes]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            await http.send(ApiRequest("GET", peer.url, {}), LONG)
            await http.send(ApiRequest("DELETE", peer.url, {}), LONG)
            return peer.asked

    asked = trio.run(run)
    assert asked[0].startswith(b"GET /v1/embeddings HTTP/1.1\r\n")
    assert asked[1].startswith(b"DELETE /v1/embeddings HTTP/1.1\r\n")
    assert all(request.endswith(b"\r\n\r\n") for request in asked)


def test_connection_is_used_again() -> None:
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


def test_empty_reply_is_none_the_worse_for_being_called_compressed() -> None:
    outcome, _ = send_to(reply_with("401 Unauthorized", b"", Content_Encoding="gzip"))
    assert isinstance(outcome, HttpReply)
    assert (outcome.status, outcome.body) == (401, b"")


def test_only_what_is_inflated_here_is_asked_for() -> None:
    _, peer = send_to(reply_with("200 OK", b"{}"), headers={"Accept-Encoding": "br, zstd"})
    accepted = [line for line in peer.asked[0].split(b"\r\n") if line.lower().startswith(b"accept-encoding")]
    assert [line.split(b": ")[1] for line in accepted] == [b"gzip"]


async def test_many_requests_at_once_are_all_answered() -> None:
    statuses = []

    async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):

        async def one() -> None:
            statuses.append((await http.send(request(peer.url), LONG)).status)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
    assert len(statuses) == 20


# --- where the key goes -----------------------------------------------------------------------------


def test_redirect_is_not_followed() -> None:
    async def run() -> tuple[int, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (elsewhere, other):
            moved = reply_with("307 Temporary Redirect", Location=elsewhere.url)
            async with run_peer(moved) as (peer, http):
                reply = await http.send(request(peer.url), LONG)
                await other.aclose()
                return reply.status, len(elsewhere.asked)

    assert trio.run(run) == (307, 0)


def test_proxy_of_the_environment_stands_before_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> bytes:
        async with run_peer(reply_with("200 OK", b"{}")) as (proxy, http):
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            await http.send(request("http://provider.invalid/v1/embeddings"), LONG)
            return proxy.asked[0]

    assert trio.run(run).startswith(b"POST http://provider.invalid/v1/embeddings HTTP/1.1\r\n")


def test_proxy_of_the_environment_never_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_proxy_that_cannot_be_used_is_an_error_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    async def run() -> tuple[ProviderUnreachableError, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            with pytest.raises(ProviderUnreachableError) as caught:
                await http.send(request("https://provider.invalid/v1"), LONG)
            return caught.value, (await http.send(request(peer.url), LONG)).status  # this machine needs none

    error, status = trio.run(run)
    assert "ALL_PROXY" in error.hint
    assert "s3cret" not in error.message + error.hint
    assert status == 200


async def test_certificates_that_cannot_be_read_are_an_error_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    http = Http()
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request("https://provider.invalid/v1"), LONG)
    await http.aclose()
    assert "SSL_CERT_FILE" in caught.value.hint


@pytest.mark.parametrize("key", ["sk-‘curly’", "sk-0123\r\nX-Injected: yes", "sk-0123\n", "sk-\0"])
def test_key_that_http_cannot_carry_is_never_sent_and_never_named(key: str) -> None:
    outcome, peer = send_to(reply_with("200 OK", b"{}"), headers={"Authorization": f"Bearer {key}"})
    assert type(outcome) is ProviderAuthError
    assert "sk-" not in outcome.message + outcome.hint + repr(outcome) + repr(outcome.__cause__)
    assert peer.asked == []


def test_name_and_password_in_the_url_do_not_take_the_place_of_the_key() -> None:
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
async def test_address_that_is_none_is_an_error_with_the_way_out(url: str) -> None:
    http = Http()
    with pytest.raises(ProviderUnreachableError) as caught:
        await http.send(request(url), LONG)
    await http.aclose()
    assert "remote.baseUrl" in caught.value.hint


# --- its life ---------------------------------------------------------------------------------------


def test_what_the_first_request_needs_can_be_loaded_before_and_nothing_is_sent_for_it() -> None:
    async def run() -> tuple[str, int, str, int]:
        async with run_peer(reply_with("200 OK", b"{}")) as (peer, http):
            await http.get_ready(peer.url)
            ready, asked = repr(http), len(peer.asked)
            await http.send(request(peer.url), LONG)
            return ready, asked, repr(http), len(peer.asked)

    assert trio.run(run) == ("<Http 1 clients>", 0, "<Http 1 clients>", 1)


async def test_what_keeps_it_from_getting_ready_is_said_by_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    http = Http()
    await http.get_ready("https://provider.invalid/v1")
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
        [sys.executable, "-c", script], env=environ, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.split() == [b"False", b"False"]


SHORT = Timeouts(connect_s=5, read_s=0.3, write_s=0.3, total_s=10)


def assert_unreachable(outcome: HttpReply | MemdError, *words: str) -> None:
    assert type(outcome) is ProviderUnreachableError, outcome
    for word in words:
        assert word in outcome.message
    assert KEY not in outcome.message + outcome.hint + repr(outcome)


# --- what doesn't answer in time --------------------------------------------------------------------


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


def test_provider_that_hangs_is_given_up_after_the_silence_it_may_keep() -> None:
    outcome, peer = send_to(hangs, SHORT)
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "sent nothing for 0.3 s")


@pytest.mark.parametrize("behaviour", [drips, drips_headers])
def test_slow_drip_is_given_up_when_the_whole_time_is_over(behaviour: Behaviour) -> None:
    outcome, peer = send_to(behaviour, Timeouts(read_s=20, total_s=0.4))
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "did not answer in full within 0.4 s")


async def test_provider_that_reads_nothing_is_given_up() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]  # nobody accepts, nobody reads
    http = Http()
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
            with trio.fail_after(15):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(http.send, request(peer.url), LONG)
                    await asked.wait()
                    nursery.cancel_scope.cancel()
            return (await http.send(request(peer.url), LONG)).status

    assert trio.run(run) == 200


# --- what breaks ------------------------------------------------------------------------------------


async def test_refused_connection_names_the_host() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    http = Http()
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
def test_connection_that_breaks_is_named_as_broken(behaviour: Behaviour) -> None:
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


def test_body_longer_than_it_says_is_read_as_far_as_it_says() -> None:
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


# --- what is too much -------------------------------------------------------------------------------


def test_giant_body_is_left_at_its_limit() -> None:
    sent = 0

    async def pours(stream: trio.SocketStream) -> None:
        nonlocal sent
        await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await stream.send_all(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536

    outcome, peer = send_to(pours, max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
    assert f"127.0.0.1:{peer.port} answered with more than 1.00 MB" in outcome.message
    assert sent < 30_000_000  # what fits into the buffers of two sockets, not what it would have sent


def test_body_of_exactly_the_limit_is_taken() -> None:
    outcome, _ = send_to(reply_with("200 OK", b"x" * 1000), max_bytes=1000)
    assert isinstance(outcome, HttpReply)
    outcome, _ = send_to(reply_with("200 OK", b"x" * 1001), max_bytes=1000)
    assert type(outcome) is ProviderReplyError


def test_compressed_bomb_is_left_at_its_limit() -> None:
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
        [sys.executable, "-c", script], input=bomb, capture_output=True, check=True, timeout=60
    )
    wanted, grown = map(int, done.stdout.split())
    assert not wanted
    assert grown < 30_000_000
    outcome, _ = send_to(reply_with("200 OK", bomb, Content_Encoding="gzip"), max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
