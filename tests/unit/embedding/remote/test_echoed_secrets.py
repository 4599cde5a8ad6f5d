"""Tests that secrets repeated by a provider, proxy or hub are never shown."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.embedding.chat import complete
from memd.embedding.local.download import fetch_file
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.endpoint import ApiRequest
from memd.embedding.remote.http import HttpClient
from memd.embedding.secret import Secret
from memd_client.errors import DownloadFailedError, MemdError, ProviderFailedError, ProviderReplyError
from tests.support.bulk_fixture import BulkFixture, items_of, override_replies, run_bulk
from tests.support.chat_server import serve_chat
from tests.support.download_server import serve_download
from tests.support.encodings import ENCODINGS, echo_of, forms_of
from tests.support.http_peer import LONG, reply_with, run_peer, send_to
from tests.support.logs import capture_logs
from tests.support.provider_errors import DialectName, ProviderReply, json_reply
from tests.support.provider_server import KEY, ProviderServer, serve_provider
from tests.support.remote_fixture import MovableClock, endpoint_of, provider_over

TENANT = "tenant-4f7a91c2-blue"
NAMES = ("authorization", "x-goog-api-key", "x-tenant")
DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")


def check_hidden(*said: str) -> None:
    """Fail if a text contains the key or the header in any encoding."""
    for text in said:
        found = [form for secret in (KEY, TENANT) for form in forms_of(secret) if form in text.casefold()]
        assert not found, text


async def fail_once(server: ProviderServer, path: Path) -> tuple[ProviderFailedError, str]:
    """Call a server that fails; return the error, and all texts about the account."""
    clock, http, accounts = MovableClock(), HttpClient(), Accounts(path, MovableClock(), 0)
    endpoint = endpoint_of(server, key=Secret(KEY), headers={"X-Tenant": TENANT})
    async with trio.open_nursery() as nursery:
        await nursery.start(accounts.run)
        account = accounts.account_for(endpoint, KNOWN[server.dialect].limits)
        provider = provider_over(endpoint, server.dialect, http, account, clock)
        with pytest.raises(ProviderFailedError) as caught:
            await provider.embed_query("a cat")
        said = repr((account.status(), account, provider, http, endpoint))
        await provider.aclose()
        await http.aclose()
        nursery.cancel_scope.cancel()
    return caught.value, said


@pytest.mark.parametrize(
    ("dialect", "status"),
    [
        pytest.param(dialect, status, marks=[] if status == 401 or dialect == "openai" else pytest.mark.long)
        for dialect in DIALECTS
        for status in (302, 400, 401, 404, 429, 500)
    ],
)
def test_key_and_header_repeated_in_an_error_reach_no_message_log_status_or_file(
    dialect: DialectName, status: int, tmp_path: Path
) -> None:
    with serve_provider(dialect, key=None, dims=8) as server:
        for at, (name, encode) in enumerate(ENCODINGS.items()):
            server.rewrite = echo_of(encode, *NAMES, status=status)
            path = tmp_path / f"{at}.json"
            with capture_logs() as logs:
                error, said = trio.run(fail_once, server, path)
            assert error.message.startswith(f"{dialect} answered {status}"), name
            check_hidden(
                error.message, error.hint, json.dumps(error.to_wire()), said, repr(logs), path.read_text()
            )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dialect", ["openai", "voyage", "gemini"])
def test_key_repeated_by_a_batch_api_reaches_no_record_reason_or_log(
    dialect: DialectName, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ENCODINGS[encoding](KEY)
    with serve_provider(dialect, dims=8) as server:

        def made(method: str, path: str) -> ProviderReply | None:
            is_job = path.endswith(("/batches", ":asyncBatchEmbedContent"))
            job = {"id": shown, "name": f"batches/{shown}", "status": "validating"}
            return json_reply(job) if method == "POST" and is_job else None

        async def play(stage: BulkFixture) -> Any:
            await stage.run().embed(items_of(2))
            return stage.store.text, stage.account.status(), stage.run().status()

        override_replies(server, monkeypatch, made)
        with capture_logs() as logs:
            outcome = run_bulk(server, play)
        assert [entry["event"] for entry in logs] == ["embedding.job_not_submitted"]
        check_hidden(repr(outcome), repr(logs))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_key_in_the_reason_of_a_failed_job_is_not_shown(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ENCODINGS[encoding](KEY)
    code = shown.replace("-", "_")
    for dialect, failed in {
        "openai": {"id": "job", "status": "failed", "errors": {"data": [{"code": f"key_{code}"}]}},
        "gemini": {"name": "batches/1", "done": True, "error": {"code": 9, "status": code.upper()}},
    }.items():
        with serve_provider(dialect, dims=8) as server, pytest.MonkeyPatch.context() as patch:  # type: ignore[arg-type]
            override_replies(server, patch, lambda method, path, job=failed: json_reply(job))  # type: ignore[misc]
            state = run_bulk(server, lambda stage: stage.api.poll("batches/1"))
        assert state.state == "failed"
        check_hidden(state.reason, state.reason.replace("_", "-"))


def test_id_of_a_job_is_bounded_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for odd in ("", "a" * 201, "batch\n1", "batch\x1b[2J", "bätch"):
        with serve_provider("openai", dims=8) as server, pytest.MonkeyPatch.context() as patch:
            job = {"id": odd, "status": "validating"}
            override_replies(
                server,
                patch,
                lambda method, path, job=job: json_reply(job) if "batches" in path else None,  # type: ignore[misc]
            )

            async def submit(stage: BulkFixture) -> None:
                with pytest.raises(ProviderReplyError):
                    await stage.api.submit(items_of(1))

            run_bulk(server, submit)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_key_in_a_chat_reply_becomes_no_file_name(encoding: str) -> None:
    shown = ENCODINGS[encoding](KEY)

    def script(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": {"content": f"notes of {shown}"}}]}

    async def ask() -> None:
        http = HttpClient()
        try:
            with pytest.raises(ProviderReplyError) as caught:
                await complete(http, endpoint, "a name?")
            check_hidden(str(caught.value.to_wire()))
        finally:
            await http.aclose()

    with serve_chat(script) as server, serve_provider("compatible", dims=8) as embeddings:
        endpoint = endpoint_of(embeddings, base_url=server.url)
        trio.run(ask)


def send_through_proxy(status_line: str, body: bytes, patch: pytest.MonkeyPatch, url: str) -> MemdError | Any:
    """Return the error of a request through a proxy with this reply."""

    async def run() -> MemdError | Any:
        async with run_peer(reply_with(status_line, body)) as (proxy, http):
            for name in ("HTTP_PROXY", "HTTPS_PROXY"):
                patch.setenv(name, f"http://memd:{TENANT}@127.0.0.1:{proxy.port}")
            try:
                return await http.send(ApiRequest("POST", url, {}, b"{}"), LONG)
            except MemdError as error:
                return error

    return trio.run(run)


@pytest.mark.parametrize("encoding", ["raw", "upper case", "url", "hex", "base64", "base64 of user and key"])
def test_password_of_a_proxy_that_it_repeats_is_not_shown(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ENCODINGS[encoding](TENANT)
    error = send_through_proxy(f"407 bad login {shown}", b"", monkeypatch, "https://provider.invalid/v1")
    assert isinstance(error, MemdError)
    assert "the proxy for provider.invalid refused the connection" in error.message
    check_hidden(str(error.to_wire()))


def test_reason_of_a_proxy_is_shown_bounded_and_without_control_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = send_through_proxy(
        f"407 no\tlogin {'x ' * 2000}", b"", monkeypatch, "https://provider.invalid/v1"
    )
    assert isinstance(error, MemdError)
    assert "refused the connection: 407 no login x" in error.message
    assert len(error.message) < 300
    assert error.message.isprintable()


@pytest.mark.parametrize("encoding", ["raw", "upper case", "url", "hex", "base64", "base64 of user and key"])
def test_token_that_a_hub_repeats_is_in_no_message_and_no_file(encoding: str, tmp_path: Path) -> None:
    shown = ENCODINGS[encoding](KEY)
    with serve_download(bytes(1000)) as hub:
        hub.etag, hub.break_after = f'"{shown}"', [300, 0]
        run = partial(fetch_file, f"{hub.url}/file.gguf", tmp_path / "file.gguf", token=Secret(KEY))
        with capture_logs() as logs, pytest.raises(DownloadFailedError) as caught:
            trio.run(partial(run, progress=lambda *step: None))
        check_hidden(str(caught.value.to_wire()), repr(logs))
        for path in tmp_path.iterdir():
            check_hidden(path.name, path.read_bytes().decode("latin-1"))


def test_token_in_a_broken_header_is_not_shown(tmp_path: Path) -> None:
    async def run() -> str:
        async with run_peer(reply_with("200 OK", b"", **{f"X{KEY}\x01": "y"})) as (peer, unused):
            await unused.aclose()
            with pytest.raises(DownloadFailedError) as caught:
                await fetch_file(peer.url, tmp_path / "file", progress=lambda *step: None, token=Secret(KEY))
            return str(caught.value.to_wire())

    said = trio.run(run)
    assert "[redacted]" in said
    check_hidden(said)


def test_settings_of_a_proxy_that_can_not_be_used_are_not_repeated_by_a_download(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"socks5h://memd:{TENANT}@proxy.invalid:x1")
    run = partial(fetch_file, "http://hub.invalid/file", tmp_path / "file", progress=lambda *step: None)
    with pytest.raises(DownloadFailedError) as caught:
        trio.run(run)
    check_hidden(str(caught.value.to_wire()))


def test_error_of_a_request_hides_its_header() -> None:
    reply, _ = send_to(reply_with("200 OK", b"{}"), headers={"X-Bad": "line\nbreak " + TENANT})
    assert isinstance(reply, MemdError)
    check_hidden(str(reply.to_wire()))
