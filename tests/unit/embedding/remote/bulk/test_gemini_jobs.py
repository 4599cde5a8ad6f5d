"""Tests of Google's batch API over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trio

from memd.embedding.remote.bulk.api import BulkResults, BulkState, match_to_hashes
from memd_client.errors import ProviderFailedError, ProviderReplyError
from tests.support.bulk_fixture import (
    batch_api_of,
    bulk_fixture,
    collect_results,
    hashes_of,
    items_of,
    run_bulk,
    sent_bodies,
)
from tests.support.logs import capture_logs
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import KEY, serve_provider


def collected(shown: dict[str, Any], hashes: list[str], monkeypatch: pytest.MonkeyPatch) -> BulkResults:
    """Return the results of a job that the provider describes like this."""
    with serve_provider("gemini", dims=4) as server:
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: json_reply(shown))
        results: BulkResults = run_bulk(server, lambda stage: stage.api.results("batches/x", hashes))
        return results


def inlined(*numbers: float, keys: bool = True) -> list[dict[str, Any]]:
    """Return results: a vector that starts with the number, key `k<number>`."""
    results: list[dict[str, Any]] = []
    for number in numbers:
        one: dict[str, Any] = {"response": {"embedding": {"values": [number, 1.0, 0.0, 0.0]}}}
        results.append(one | ({"metadata": {"key": f"k{number:g}"}} if keys else {}))
    return results


def test_job_returns_the_vectors_of_plain_requests() -> None:
    with serve_provider("gemini", dims=24) as server:
        texts = [
            "a cat",
            'quotes " and \\ and \r\n lines',
            "日本語 \u2028 text",
            "broken \udc80 half",
            "a" * 3000,
        ]
        items = [(f"hash{at}", text) for at, text in enumerate(texts)]
        results = run_bulk(server, lambda stage: collect_results(stage, items), prefix="note: ", dims=16)
        assert set(results.vectors) == {digest for digest, _ in items}
        for digest, text in items:
            whole = "note: " + text.encode("utf-8", "replace").decode()
            np.testing.assert_allclose(
                results.vectors[digest], server.vector(whole, "RETRIEVAL_DOCUMENT", 16), atol=1e-6
            )
        assert (results.refused, results.failed, server.complaints) == ({}, {}, [])


def test_job_has_complete_requests_with_hashes_as_keys() -> None:
    with serve_provider("gemini", dims=24) as server:
        run_bulk(server, lambda stage: stage.api.submit(items_of(1)))
        digest, text = items_of(1)[0]
        [body] = sent_bodies(server, "POST", "/models/gemini-embedding-001:asyncBatchEmbedContent")
        assert json.loads(body)["batch"]["inputConfig"]["requests"]["requests"] == [
            {
                "request": {
                    "model": "models/gemini-embedding-001",
                    "content": {"parts": [{"text": text}]},
                    "taskType": "RETRIEVAL_DOCUMENT",
                },
                "metadata": {"key": digest},
            }
        ]


async def test_refused_and_missing_texts_are_distinguished() -> None:
    with serve_provider("gemini", dims=24) as server:
        items = [("lost", "lost"), ("bad", "something forbidden"), ("good", "a cat"), ("late", "too late")]
        batch_api_of(server).refused_marker = "forbidden"
        batch_api_of(server).lost = 1
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items)
            states = [await stage.api.poll(job_id)]
            batch_api_of(server).advance(job_id, done=3)
            states.append(await stage.api.poll(job_id))
            await stage.api.cancel(job_id)
            states.append(await stage.api.poll(job_id))
            states, results = (states, await stage.api.results(job_id, hashes_of(items)))
        assert [(one.state, one.done, one.total, one.reason) for one in states] == [
            ("running", 0, 4, ""),
            ("running", 3, 4, ""),
            ("failed", 3, 4, "cancelled"),
        ]
        assert list(results.vectors) == ["good"]
        assert results.refused == {"bad": "gemini: error 3"}
        assert match_to_hashes(results, hashes_of(items)).failed.keys() == {"lost", "late"}


async def test_failed_and_expired_jobs_have_a_reason() -> None:
    with serve_provider("gemini", dims=24) as server:
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            ends: list[tuple[str, str, int]] = []
            for end in (
                batch_api_of(server).fail,
                lambda job_id: batch_api_of(server).expire(job_id, done=2),
            ):
                job_id = await stage.api.submit(items_of(3))
                end(job_id)
                state = await stage.api.poll(job_id)
                results = await stage.api.results(job_id, hashes_of(items_of(3)))
                ends.append((state.state, state.reason, len(results.vectors)))
        assert ends == [("failed", "error 13", 0), ("failed", "expired", 2)]


async def test_a_job_the_provider_does_not_know_has_failed() -> None:
    with serve_provider("gemini", dims=24) as server:
        async with bulk_fixture(server) as stage:
            state, results = (
                await stage.api.poll("batches/gone"),
                await stage.api.results("batches/gone", ["a"]),
            )
        assert (state.state, state.reason) == ("failed", "the provider does not know the job")
        assert results == BulkResults()


@pytest.mark.parametrize(
    "name", ["../files/x", "/etc", "batches/..", "batches/a?b=c", "http://elsewhere/x", ""]
)
async def test_invalid_job_name_is_never_requested(name: str) -> None:
    with serve_provider("gemini", dims=24) as server:
        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderReplyError):
                await stage.api.poll(name)
        assert server.requests == []


def test_a_finished_job_is_downloaded_once() -> None:
    with serve_provider("gemini", dims=24) as server:
        run_bulk(server, lambda stage: collect_results(stage, items_of(3)))
        assert len([call for call in server.requests if call.asked.method == "GET"]) == 1


PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "response": lambda results: {"response": {"inlinedResponses": {"inlinedResponses": results}}},
    "metadata": lambda results: {"metadata": {"output": {"inlinedResponses": {"inlinedResponses": results}}}},
    "both": lambda results: {
        "response": {"@type": "x", "inlinedResponses": {"inlinedResponses": results}},
        "metadata": {"output": {"inlinedResponses": {"inlinedResponses": results}}},
    },
    "other name": lambda results: {
        "metadata": {"output": {"inlinedEmbedContentResponses": {"inlinedResponses": results}}}
    },
    "flat": lambda results: {"response": {"inlinedResponses": results}},
    "empty response": lambda results: {
        "response": {"@type": "x"},
        "metadata": {"output": {"inlinedResponses": {"inlinedResponses": results}}},
    },
}


@pytest.mark.parametrize("place", PLACES)
def test_results_are_found_at_every_known_path(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {"name": "batches/x", "done": True, **PLACES[place](inlined(3, 1, 2))}
    results = collected(shown, ["k1", "k2", "k3"], monkeypatch)
    firsts = {key: round(float(vector[0] / vector[1])) for key, vector in results.vectors.items()}
    assert firsts == {"k1": 1, "k2": 2, "k3": 3}


def test_complete_results_without_keys_are_matched_by_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = PLACES["response"]([*inlined(5, 6, keys=False), {"error": {"code": 13, "status": "INTERNAL"}}])
    results = collected(shown, ["a", "b", "c"], monkeypatch)
    assert [round(float(results.vectors[key][0] / results.vectors[key][1])) for key in "ab"] == [5, 6]
    assert results.failed == {"c": "gemini: INTERNAL"}


@pytest.mark.parametrize("hashes", [["a"], ["a", "b", "c"]])
def test_incomplete_results_without_keys_are_ignored(
    hashes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert collected(PLACES["response"](inlined(5, 6, keys=False)), hashes, monkeypatch).vectors == {}


def test_results_without_keys_among_keyed_ones_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = PLACES["response"]([*inlined(5), *inlined(6, keys=False)])
    assert list(collected(shown, ["k5", "k6"], monkeypatch).vectors) == ["k5"]


@pytest.mark.parametrize(
    "values",
    ["[]", "[0.0,0.0,0.0,0.0]", "[1.0,2.0]", "[1.0,null,0,0]", '"x"', "[1e999,1.0,0,0]", "{}", "[NaN]"],
)
def test_wrong_vector_fails_only_its_text(values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("gemini", dims=4) as server:
        wrong = {"metadata": {"key": "bad"}, "response": {"embedding": {"values": "WRONG"}}}
        shown = json.dumps(PLACES["metadata"]([*inlined(1, 2, 3), wrong]))
        body = shown.replace('"WRONG"', values).encode()
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: ProviderReply(200, body))
        results = run_bulk(server, lambda stage: stage.api.results("batches/x", ["k1", "k2", "k3", "bad"]))
        assert results.vectors.keys() == (set() if "NaN" in values else {"k1", "k2", "k3"})
        assert "bad" not in results.vectors


@pytest.mark.parametrize("spoil", ["zero", "wrong_dims"])
def test_invalid_vector_fails_its_text(spoil: FaultKind) -> None:
    with serve_provider("gemini", dims=24) as server:
        batch_api_of(server).spoil = spoil
        items = items_of(4)
        found = run_bulk(server, lambda stage: collect_results(stage, items))
        assert set(found.vectors) == set(hashes_of(items)[1:])


@pytest.mark.parametrize("shown", [{}, {"name": ""}, {"name": "../x"}, {"name": 5}])
async def test_job_without_a_name_is_an_error(shown: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("gemini", dims=24) as server:
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: json_reply(shown))

        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderReplyError):
                await stage.api.submit(items_of(1))


@pytest.mark.parametrize("body", [b"[]", b"\xff", b"<html>", b'{"metadata": 5}'])
async def test_reply_without_a_job_is_an_error(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("gemini", dims=24) as server:
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: ProviderReply(200, body))

        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderReplyError):
                await stage.api.poll("batches/x")


async def test_googles_numbers_and_states_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("gemini", dims=24) as server:
        shown = [
            {"metadata": {"state": "BATCH_STATE_PENDING", "batchStats": {"requestCount": "7"}}},
            {"metadata": {"state": "JOB_STATE_RUNNING", "batchStats": {"successfulRequestCount": "-"}}},
            {"metadata": {"state": "BATCH_STATE_SUCCEEDED", "batchStats": {"successfulRequestCount": 7}}},
            {"state": "BATCH_STATE_EXPIRED"},
            {"done": True, "error": {"code": 8, "status": "RESOURCE_EXHAUSTED", "message": "secret"}},
        ]
        answers = iter(shown)
        monkeypatch.setattr(batch_api_of(server), "_answer", lambda asked: json_reply(next(answers)))

        async with bulk_fixture(server) as stage:
            assert ([await stage.api.poll("batches/x") for _ in shown]) == [
                BulkState("running", 0, 7),
                BulkState("running", 0, 0),
                BulkState("done", 7, 0),
                BulkState("failed", 0, 0, "expired"),
                BulkState("failed", 0, 0, "RESOURCE_EXHAUSTED"),
            ]


async def test_creation_of_a_job_is_not_retried() -> None:
    with serve_provider("gemini", dims=24) as server:
        server.fault = Fault("server_error")

        async with bulk_fixture(server) as stage:
            with pytest.raises(ProviderFailedError):
                await stage.api.submit(items_of(1))
        assert stage.api.retry_in_s() == 0
        assert len(server.requests) == 1


async def test_cancelled_submit_still_returns_the_job_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("gemini", dims=24) as server:
        got: list[str] = []

        async with bulk_fixture(server) as stage:
            desk, scope = batch_api_of(server), trio.CancelScope()
            token, answer = trio.lowlevel.current_trio_token(), desk._answer

            def cancel_first(asked: HttpRequest) -> ProviderReply | None:
                trio.from_thread.run_sync(scope.cancel, trio_token=token)
                return answer(asked)

            monkeypatch.setattr(desk, "_answer", cancel_first)
            with scope:
                got.append(await stage.api.submit(items_of(2)))
        assert got == list(batch_api_of(server).jobs)


async def test_job_is_deleted_after_its_results_are_stored() -> None:
    with serve_provider("gemini", dims=24) as server:
        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items_of(1))
            await stage.api.clean_up(job_id)
            assert batch_api_of(server).jobs == {}
            await stage.api.clean_up(job_id)
            server.fault = Fault("server_error")
            await stage.api.clean_up(job_id)


def test_key_is_only_in_one_header() -> None:
    with serve_provider("gemini", dims=24) as server, capture_logs() as logs:
        shown = run_bulk(server, lambda stage: collect_results(stage, items_of(1)))
        for call in server.requests:
            assert call.asked.headers["x-goog-api-key"] == KEY
            assert KEY not in call.asked.path + call.asked.query + call.asked.body.decode()
        assert KEY not in f"{shown} {logs}"
