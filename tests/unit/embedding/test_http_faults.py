"""Over real sockets: a provider that hangs, drips, breaks off or lies is an error of ours, in time."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pytest
import trio

from memd.embedding.remote.providers.http import Http, Patience, Reply
from memd_client.errors import MemdError, ProviderReplyError, ProviderUnreachableError
from tests.support.http_peer import KEY, LONG, Behaviour, listening, request, says, sent_to

SHORT = Patience(connect_s=5, read_s=0.3, write_s=0.3, total_s=10)


def assert_unreachable(outcome: Reply | MemdError, *words: str) -> None:
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
    outcome, peer = sent_to(hangs, SHORT)
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "sent nothing for 0.3 s")


@pytest.mark.parametrize("behaviour", [drips, drips_headers])
def test_slow_drip_is_given_up_when_the_whole_time_is_over(behaviour: Behaviour) -> None:
    outcome, peer = sent_to(behaviour, Patience(read_s=20, total_s=0.4))
    assert_unreachable(outcome, f"127.0.0.1:{peer.port}", "did not answer in full within 0.4 s")


def test_provider_that_reads_nothing_is_given_up() -> None:
    async def run() -> MemdError:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]  # nobody accepts, nobody reads
        http = Http()
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/v1"
        with pytest.raises(ProviderUnreachableError) as caught:
            await http.send(request(url, b"x" * 30_000_000), SHORT)
        await http.aclose()
        await listener.aclose()
        return caught.value

    assert_unreachable(trio.run(run), "0.3 s")


def test_cancelled_request_ends_at_once_and_the_next_one_works() -> None:
    async def run() -> int:
        asked = trio.Event()

        async def hangs_once(stream: trio.SocketStream) -> None:
            if not asked.is_set():
                asked.set()
                await trio.sleep_forever()
            await says("200 OK", b"{}")(stream)

        async with listening(hangs_once) as (peer, http):
            with trio.fail_after(15):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(http.send, request(peer.url), LONG)
                    await asked.wait()
                    nursery.cancel_scope.cancel()
            return (await http.send(request(peer.url), LONG)).status

    assert trio.run(run) == 200


# --- what breaks ------------------------------------------------------------------------------------


def test_refused_connection_names_the_host() -> None:
    async def run() -> ProviderUnreachableError:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
        port = listener.socket.getsockname()[1]
        await listener.aclose()
        http = Http()
        with pytest.raises(ProviderUnreachableError) as caught:
            await http.send(request(f"http://127.0.0.1:{port}/v1"), LONG)
        await http.aclose()
        return caught.value

    assert_unreachable(trio.run(run), "127.0.0.1:", "can't be reached")


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
    outcome, peer = sent_to(behaviour)
    assert_unreachable(outcome, f"the connection to 127.0.0.1:{peer.port} broke")


def test_errors_name_the_host_without_the_password_before_it() -> None:
    async def run() -> ProviderUnreachableError:
        async with listening(ends_early) as (peer, http):
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

    outcome, _ = sent_to(lies)
    assert isinstance(outcome, Reply)
    assert outcome.body == b"{}"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"this is no gzip"),
        ("gzip", gzip.compress(b"x" * 5000)[:-12]),
        ("deflate", b"\0\1\2\3"),
        ("br", b"nobody asked for this"),
    ],
)
def test_broken_compression_is_an_error(coding: str, body: bytes) -> None:
    outcome, peer = sent_to(says("200 OK", body, Content_Encoding=coding))
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

    outcome, peer = sent_to(pours, max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
    assert f"127.0.0.1:{peer.port} answered with more than 1.00 MB" in outcome.message
    assert sent < 30_000_000  # what fits into the buffers of two sockets, not what it would have sent


def test_body_of_exactly_the_limit_is_taken() -> None:
    outcome, _ = sent_to(says("200 OK", b"x" * 1000), max_bytes=1000)
    assert isinstance(outcome, Reply)
    outcome, _ = sent_to(says("200 OK", b"x" * 1001), max_bytes=1000)
    assert type(outcome) is ProviderReplyError


def test_compressed_bomb_is_left_at_its_limit() -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    script = f"""
import resource, sys, trio
sys.path[:0] = {sys.path!r}
from memd.embedding.remote.providers.http_body import Body
bomb = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wanted = Body("gzip", 1_000_000).feed(bomb)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(int(wanted), grown * (1 if sys.platform == "darwin" else 1024))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input=bomb, capture_output=True, check=True, timeout=60
    )
    wanted, grown = map(int, done.stdout.split())
    assert not wanted
    assert grown < 30_000_000
    outcome, _ = sent_to(says("200 OK", bomb, Content_Encoding="gzip"), max_bytes=1_000_000)
    assert type(outcome) is ProviderReplyError
