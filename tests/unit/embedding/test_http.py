"""One way over HTTP for all: what is sent arrives, through the proxies that are wanted, and gives no key away."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zlib

import pytest
import trio

from memd.embedding.remote.providers.api import ApiRequest
from memd.embedding.remote.providers.http import Http, Reply
from memd_client.errors import (
    MemdError,
    ProviderAuthError,
    ProviderUnreachableError,
    ShuttingDownError,
)
from tests.support.http_peer import KEY, LONG, listening, request, says, sent_to

PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


# --- what goes well ---------------------------------------------------------------------------------


def test_reply_of_any_status_comes_back_whole_with_lower_case_headers() -> None:
    outcome, peer = sent_to(says("429 Too Many Requests", b'{"error":1}', Retry_After="40", X_More="1"))
    assert isinstance(outcome, Reply)
    assert (outcome.status, outcome.body) == (429, b'{"error":1}')
    assert outcome.headers["retry-after"] == "40"
    assert outcome.headers["x-more"] == "1"
    assert len(peer.asked) == 1


def test_request_goes_out_as_it_was_made() -> None:
    _, peer = sent_to(says("200 OK", b"{}"), headers={"X-Own": "yes"})
    head, _, body = peer.asked[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/embeddings HTTP/1.1"
    assert f"Authorization: Bearer {KEY}".encode() in lines
    assert b"X-Own: yes" in lines
    assert body == b'{"input":["a"]}'


def test_get_and_delete_go_out_without_a_body() -> None:
    async def run() -> list[bytes]:
        async with listening(says("200 OK", b"{}")) as (peer, http):
            await http.send(ApiRequest("GET", peer.url, {}), LONG)
            await http.send(ApiRequest("DELETE", peer.url, {}), LONG)
            return peer.asked

    asked = trio.run(run)
    assert asked[0].startswith(b"GET /v1/embeddings HTTP/1.1\r\n")
    assert asked[1].startswith(b"DELETE /v1/embeddings HTTP/1.1\r\n")
    assert all(request.endswith(b"\r\n\r\n") for request in asked)


def test_connection_is_used_again() -> None:
    async def run() -> int:
        async with listening(says("200 OK", b"{}")) as (peer, http):
            for _ in range(3):
                await http.send(request(peer.url), LONG)
            return peer.connections

    assert trio.run(run) == 1


def test_compressed_reply_is_inflated() -> None:
    for coding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        outcome, _ = sent_to(says("200 OK", pack(b"x" * 5000), Content_Encoding=coding))
        assert isinstance(outcome, Reply)
        assert outcome.body == b"x" * 5000


def test_empty_reply_is_none_the_worse_for_being_called_compressed() -> None:
    outcome, _ = sent_to(says("401 Unauthorized", b"", Content_Encoding="gzip"))
    assert isinstance(outcome, Reply)
    assert (outcome.status, outcome.body) == (401, b"")


def test_only_what_is_inflated_here_is_asked_for() -> None:
    _, peer = sent_to(says("200 OK", b"{}"), headers={"Accept-Encoding": "br, zstd"})
    accepted = [line for line in peer.asked[0].split(b"\r\n") if line.lower().startswith(b"accept-encoding")]
    assert [line.split(b": ")[1] for line in accepted] == [b"gzip"]


def test_many_requests_at_once_are_all_answered() -> None:
    async def run() -> int:
        statuses = []

        async with listening(says("200 OK", b"{}")) as (peer, http):

            async def one() -> None:
                statuses.append((await http.send(request(peer.url), LONG)).status)

            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(one)
        return len(statuses)

    assert trio.run(run) == 20


# --- where the key goes -----------------------------------------------------------------------------


def test_redirect_is_not_followed() -> None:
    async def run() -> tuple[int, int]:
        async with listening(says("200 OK", b"{}")) as (elsewhere, other):
            moved = says("307 Temporary Redirect", Location=elsewhere.url)
            async with listening(moved) as (peer, http):
                reply = await http.send(request(peer.url), LONG)
                await other.aclose()
                return reply.status, len(elsewhere.asked)

    assert trio.run(run) == (307, 0)


def test_proxy_of_the_environment_stands_before_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> bytes:
        async with listening(says("200 OK", b"{}")) as (proxy, http):
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            await http.send(request("http://provider.invalid/v1/embeddings"), LONG)
            return proxy.asked[0]

    assert trio.run(run).startswith(b"POST http://provider.invalid/v1/embeddings HTTP/1.1\r\n")


def test_proxy_of_the_environment_never_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[int, int]:
        async with listening(says("502 Bad Gateway")) as (proxy, unused):
            for name in ("HTTP_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            async with listening(says("200 OK", b"{}")) as (peer, http):
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
        async with listening(says("200 OK", b"{}")) as (peer, http):
            with pytest.raises(ProviderUnreachableError) as caught:
                await http.send(request("https://provider.invalid/v1"), LONG)
            return caught.value, (await http.send(request(peer.url), LONG)).status  # this machine needs none

    error, status = trio.run(run)
    assert "ALL_PROXY" in error.hint
    assert "s3cret" not in error.message + error.hint
    assert status == 200


def test_certificates_that_cannot_be_read_are_an_error_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    async def run() -> ProviderUnreachableError:
        http = Http()
        with pytest.raises(ProviderUnreachableError) as caught:
            await http.send(request("https://provider.invalid/v1"), LONG)
        await http.aclose()
        return caught.value

    assert "SSL_CERT_FILE" in trio.run(run).hint


@pytest.mark.parametrize("key", ["sk-‘curly’", "sk-0123\r\nX-Injected: yes", "sk-0123\n", "sk-\0"])
def test_key_that_http_cannot_carry_is_never_sent_and_never_named(key: str) -> None:
    outcome, peer = sent_to(says("200 OK", b"{}"), headers={"Authorization": f"Bearer {key}"})
    assert type(outcome) is ProviderAuthError
    assert "sk-" not in outcome.message + outcome.hint + repr(outcome) + repr(outcome.__cause__)
    assert peer.asked == []


def test_name_and_password_in_the_url_do_not_take_the_place_of_the_key() -> None:
    async def run() -> list[bytes]:
        async with listening(says("200 OK", b"{}")) as (peer, http):
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
def test_address_that_is_none_is_an_error_with_the_way_out(url: str) -> None:
    async def run() -> ProviderUnreachableError:
        http = Http()
        with pytest.raises(ProviderUnreachableError) as caught:
            await http.send(request(url), LONG)
        await http.aclose()
        return caught.value

    assert "remote.baseUrl" in trio.run(run).hint


# --- its life ---------------------------------------------------------------------------------------


def test_what_the_first_request_needs_can_be_loaded_before_and_nothing_is_sent_for_it() -> None:
    async def run() -> tuple[str, int, str, int]:
        async with listening(says("200 OK", b"{}")) as (peer, http):
            await http.get_ready(peer.url)
            ready, asked = repr(http), len(peer.asked)
            await http.send(request(peer.url), LONG)
            return ready, asked, repr(http), len(peer.asked)

    assert trio.run(run) == ("<Http 1 clients>", 0, "<Http 1 clients>", 1)


def test_what_keeps_it_from_getting_ready_is_said_by_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")

    async def run() -> None:
        http = Http()
        await http.get_ready("https://provider.invalid/v1")
        with pytest.raises(ProviderUnreachableError):
            await http.send(request("https://provider.invalid/v1"), LONG)
        await http.aclose()

    trio.run(run)


def test_after_closing_nothing_is_sent() -> None:
    async def run() -> int:
        async with listening(says("200 OK", b"{}")) as (peer, http):
            await http.send(request(peer.url), LONG)
            await http.aclose()
            await http.aclose()
            with pytest.raises(ShuttingDownError):
                await http.send(request(peer.url), LONG)
            return len(peer.asked)

    assert trio.run(run) == 1


def test_closing_ends_a_request_under_way() -> None:
    async def run() -> MemdError:
        asked = trio.Event()

        async def waits(stream: trio.SocketStream) -> None:
            asked.set()
            await trio.sleep_forever()

        caught: list[MemdError] = []
        async with listening(waits) as (peer, http), trio.open_nursery() as nursery:

            async def ask() -> None:
                try:
                    await http.send(request(peer.url), LONG)
                except MemdError as error:
                    caught.append(error)

            nursery.start_soon(ask)
            await asked.wait()
            await http.aclose()
        return caught[0]

    assert isinstance(trio.run(run), (ProviderUnreachableError, ShuttingDownError))


def test_httpx_is_not_loaded_before_the_first_request() -> None:
    modules = ("http", "failures", "openai", "gemini", "voyage", "mistral", "ollama", "compatible")
    imports = "\n".join(f"import memd.embedding.providers.{name}" for name in modules)
    script = f"import sys\n{imports}\nprint('httpx' in sys.modules, 'httpcore' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.split() == [b"False", b"False"]
