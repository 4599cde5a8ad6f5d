"""Tests of calls to batch APIs: retries, costs, and isolation of their failures."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from memd.embedding.remote.bulk.api import BulkState
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    TokenBudgetError,
)
from tests.support.bulk_fixture import batch_api_of, bulk_fixture, hashes_of, items_of, run_bulk, sent_bodies
from tests.support.logs import capture_logs
from tests.support.provider_errors import ProviderReply, json_reply
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import KEY, serve_provider


def test_upload_is_retried_and_job_is_created_once() -> None:
    with serve_provider("openai", dims=24) as server:
        server.fault = Fault("server_error", times=2)
        run_bulk(server, lambda stage: stage.api.submit(items_of(2)))
        assert len(sent_bodies(server, "POST", "/files")) == 3
        assert len(sent_bodies(server, "POST", "/batches")) == 1


async def test_failed_creation_is_not_retried_and_deletes_its_file() -> None:
    with serve_provider("openai", dims=24) as server:
        server.models = {"another"}
        batch_api_of(server)._models = {"another"}

        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderFailedError):
                await stage.api.submit(items_of(2))
        assert stage.accounts.tokens_today == 0
        assert len(sent_bodies(server, "POST", "/batches")) == 1
        assert batch_api_of(server).files == {}


@pytest.mark.parametrize(
    "kind", ["unauthorized", "forbidden", "quota", "server_error", "reset", "html", "empty"]
)
async def test_batch_api_failures_do_not_affect_plain_requests(kind: FaultKind) -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            server.fault = Fault(kind)
            with pytest.raises(ProviderFailedError):
                await stage.api.submit(items_of(2))
        assert (stage.api.retry_in_s(), stage.accounts.tokens_today) == (0.0, 0)


async def test_retry_after_pauses_the_whole_account() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            server.fault = Fault("rate_limited", retry_after=40)
            with pytest.raises(ProviderRateLimitedError):
                await stage.api.submit(items_of(2))
            asked = len(server.requests)
            with pytest.raises(ProviderRateLimitedError):
                await stage.api.poll("batch_1")
        pause_s, calls = (stage.api.retry_in_s(), len(server.requests) - asked)
        assert pause_s >= 40
        assert calls == 0


async def test_job_tokens_are_bought_at_creation_within_the_budget() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server, daily_budget=50) as stage:
            await stage.api.submit(items_of(4))
            bought, asked = stage.accounts.tokens_today, len(server.requests)
            with pytest.raises(TokenBudgetError):
                await stage.api.submit(items_of(4))
            assert len(server.requests) == asked, "nothing is uploaded that can't be paid"
        bought, after = (bought, stage.accounts.tokens_today)
        assert 0 < bought == after <= 50


async def test_an_address_without_a_batch_api_is_named() -> None:
    with serve_provider("mistral", dims=24) as server:
        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderFailedError) as raised:
                await stage.api.submit(items_of(2))
        error = raised.value
        assert "no batch API" in error.message
        assert "endpoint.batch.enabled" in error.hint


async def test_files_are_deleted_after_the_results_are_stored() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).refused_marker = "number 1 "

        async with bulk_fixture(server) as stage:
            items = items_of(3)
            job_id = await stage.api.submit(items)
            await stage.api.poll(job_id)
            await stage.api.results(job_id, hashes_of(items))
            before = len(batch_api_of(server).files)
            await stage.api.clean_up(job_id)
            await stage.api.clean_up(job_id)  # the second call has nothing to do
        assert (before, len(batch_api_of(server).files)) == (3, 0)


async def test_clean_up_ignores_errors() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items_of(1))
            server.fault = Fault("server_error")
            await stage.api.clean_up(job_id)


async def test_cancelled_submit_still_returns_the_job_id(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        got: list[str] = []

        async with bulk_fixture(server) as stage:
            desk, scope = batch_api_of(server), trio.CancelScope()
            token, create = trio.lowlevel.current_trio_token(), desk._answer

            def cancel_first(asked: Any) -> ProviderReply | None:
                if asked.path.endswith("/batches"):
                    trio.from_thread.run_sync(scope.cancel, trio_token=token)
                return create(asked)

            monkeypatch.setattr(desk, "_answer", cancel_first)
            with scope:
                got.append(await stage.api.submit(items_of(2)))
        assert got == list(batch_api_of(server).jobs)


@pytest.mark.parametrize("body", [b"[]", b"{}", b"\xff\xfe", b'{"id": 5, "status": "completed"}', b"<html>"])
async def test_reply_without_a_job_is_an_error(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: ProviderReply(200, body))

        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderReplyError):
                await stage.api.poll("batch_1")


def test_unknown_job_states_count_as_running(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        shown = {
            "id": "b",
            "status": "warming_up",
            "request_counts": None,
            "errors": "none",
            "new_field": [1],
        }
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: json_reply(shown))
        state = run_bulk(server, lambda stage: stage.api.poll("b"))
        assert state == BulkState("running", 0, 0)


async def test_key_is_only_in_one_header() -> None:
    with serve_provider("openai", dims=24) as server, capture_logs() as logs:
        async with bulk_fixture(server) as stage:
            shown = [repr(stage.api), stage.api.owner]
            server.key = "another"
            with pytest.raises(ProviderAuthError) as raised:
                await stage.api.submit(items_of(1))
        shown = [*shown, str(raised.value), raised.value.hint, repr(raised.value.data)]
        asked = server.requests[0].asked
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert KEY.encode() not in asked.body
        assert KEY not in " ".join([*shown, str(logs)])


async def test_fetched_results_do_not_resume_an_account_without_credit() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items_of(1))
            stage.account.begin(1, metered=True).record_failure(ProviderQuotaError("no credit"))
            with pytest.raises(ProviderQuotaError):
                await stage.api.poll(job_id)
            stage.clock.move(31 * 60)
            state = await stage.api.poll(job_id)
        assert ([state.state, stage.account.status().code]) == ["done", "provider_quota_exhausted"]
