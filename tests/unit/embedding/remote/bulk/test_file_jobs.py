"""Tests of OpenAI's and Voyage's batch APIs over real HTTP."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memd.embedding.provider import BLANK
from memd.embedding.remote.bulk.api import BulkResults, match_to_hashes
from tests.support.bulk_fixture import (
    batch_api_of,
    bulk_fixture,
    collect_results,
    hashes_of,
    items_of,
    run_bulk,
    sent_bodies,
)
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import FaultKind
from tests.support.provider_server import serve_provider

FILE_DIALECTS: tuple[DialectName, ...] = ("openai", "voyage")
KINDS: dict[DialectName, str] = {"openai": "", "voyage": "document"}


@pytest.mark.parametrize("dialect", FILE_DIALECTS)
def test_job_returns_the_vectors_of_plain_requests(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        texts = [
            "a cat",
            'quotes " and \\ and \r\n lines',
            "日本語 \u2028 text",
            "broken \udc80 half",
            "a" * 3000,
        ]
        items = [(f"hash{at}", text) for at, text in enumerate(texts)]
        results = run_bulk(server, lambda stage: collect_results(stage, items), prefix="passage: ")
        assert results.vectors.keys() == {digest for digest, _ in items}
        for digest, text in items:
            whole = "passage: " + text.encode("utf-8", "replace").decode()
            np.testing.assert_allclose(
                results.vectors[digest], server.vector(whole, KINDS[dialect]), atol=1e-6
            )
            assert abs(float(np.linalg.norm(results.vectors[digest])) - 1.0) < 1e-5
        assert (results.refused, results.failed, server.complaints) == ({}, {}, [])
        assert results.tokens is not None
        assert results.tokens > 0


def test_openai_lines_are_complete_requests_with_dimensions() -> None:
    with serve_provider("openai", dims=24) as server:
        results = run_bulk(server, lambda stage: collect_results(stage, items_of(2)), dims=8)
        lines = [json.loads(line) for line in batch_api_of(server).files["file-000001"].splitlines()]
        assert [line["custom_id"] for line in lines] == hashes_of(items_of(2))
        assert lines[0]["body"] == {
            "model": "text-embedding-3-small",
            "input": [items_of(2)[0][1]],
            "encoding_format": "base64",
            "dimensions": 8,
        }
        assert json.loads(sent_bodies(server, "POST", "/batches")[0]) == {
            "input_file_id": "file-000001",
            "endpoint": "/v1/embeddings",
            "completion_window": "24h",
        }
        assert {vector.shape for vector in results.vectors.values()} == {(8,)}


def test_voyage_lines_have_the_text_and_the_job_has_the_parameters() -> None:
    with serve_provider("voyage", dims=24) as server:
        run_bulk(server, lambda stage: collect_results(stage, items_of(1)))
        assert json.loads(batch_api_of(server).files["file-000001"]) == {
            "custom_id": hashes_of(items_of(1))[0],
            "body": {"input": [items_of(1)[0][1]]},
        }
        created = json.loads(sent_bodies(server, "POST", "/batches")[0])
        assert created["completion_window"] == "12h"
        assert created["request_params"] == {
            "model": "voyage-4-large",
            "input_type": "document",
            "truncation": False,
        }


def test_blank_text_is_replaced_by_an_accepted_text() -> None:
    with serve_provider("openai", dims=24) as server:
        results = run_bulk(server, lambda stage: collect_results(stage, [("blank", " \n\t"), ("empty", "")]))
        np.testing.assert_allclose(results.vectors["blank"], server.vector(BLANK), atol=1e-6)
        np.testing.assert_allclose(results.vectors["empty"], server.vector(BLANK), atol=1e-6)


@pytest.mark.parametrize("dialect", FILE_DIALECTS)
async def test_refused_and_failed_texts_are_distinguished(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        items = [("lost", "lost"), ("good", "a cat"), ("bad", "something forbidden"), ("late", "too late")]
        batch_api_of(server).refused_marker = "forbidden"
        batch_api_of(server).lost = 1
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items)
            batch_api_of(server).expire(job_id, done=3)
            state, results = (await stage.api.poll(job_id), await stage.api.results(job_id, hashes_of(items)))
        assert (state.state, state.reason) == ("failed", "expired")
        assert list(results.vectors) == ["good"]
        assert list(results.refused) == ["bad"]
        assert results.failed == {"late": "batch_expired"}
        assert "forbidden" not in str(results.refused), "the provider's sentence repeats the text"


async def test_job_with_a_refused_file_has_a_reason_and_no_results() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items_of(3))
            batch_api_of(server).fail(job_id)
            state, results = (
                await stage.api.poll(job_id),
                await stage.api.results(job_id, hashes_of(items_of(3))),
            )
        assert (state.state, state.reason) == ("failed", "failed: invalid_json_line")
        assert results == BulkResults()


async def test_cancelled_job_keeps_its_results() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        items = items_of(4)

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items)
            states = [await stage.api.poll(job_id)]
            batch_api_of(server).advance(job_id, done=2)
            states.append(await stage.api.poll(job_id))
            await stage.api.cancel(job_id)
            states.append(await stage.api.poll(job_id))
            states, results = (states, await stage.api.results(job_id, hashes_of(items)))
        assert [(state.state, state.done, state.total) for state in states] == [
            ("running", 0, 4),
            ("running", 2, 4),
            ("failed", 2, 4),
        ]
        assert list(results.vectors) == hashes_of(items)[1::-1]
        assert set(results.failed.values()) == {"batch_cancelled"}


async def test_a_job_the_provider_does_not_know_has_failed() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            state, results = (
                await stage.api.poll("batch_gone/../x"),
                await stage.api.results("batch_gone", ["a"]),
            )
        assert (state.state, state.reason) == ("failed", "the provider does not know the job")
        assert results == BulkResults()
        assert server.requests[0].asked.path == "/v1/batches/batch_gone%2F..%2Fx", "an id is no path"


@pytest.mark.parametrize("dialect", FILE_DIALECTS)
@pytest.mark.parametrize("spoil", ["nan", "zero", "wrong_dims", "too_few", "too_many", "doubled_index"])
def test_wrong_vector_fails_only_its_text(spoil: FaultKind, dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        items = items_of(5)
        batch_api_of(server).spoil = spoil
        found = run_bulk(server, lambda stage: collect_results(stage, items))
        results = match_to_hashes(found, hashes_of(items))
        assert list(results.vectors) == hashes_of(items)[1:]
        assert list(results.failed) == hashes_of(items)[:1]


def test_vectors_without_a_common_size_are_all_failed() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).spoil = "wrong_dims"
        results = run_bulk(server, lambda stage: collect_results(stage, items_of(2)))
        assert results.vectors == {}
        assert set(results.failed) == set(hashes_of(items_of(2)))


async def test_invalid_lines_fail_only_their_texts() -> None:
    with serve_provider("openai", dims=24) as server:
        items = items_of(3)

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items)
            await stage.api.poll(job_id)
            desk = batch_api_of(server)
            name = f"file-{job_id}-output"
            first, *rest = desk.files[name].splitlines()
            desk.files[name] = b"\n".join(
                [first[: len(first) // 2], b"", b"[]", b"\xff", b'{"custom_id": 7}', *rest]
            )
            results = await stage.api.results(job_id, hashes_of(items))
        assert set(results.vectors) == set(hashes_of(items)[:2])


async def test_second_line_for_a_text_is_ignored() -> None:
    with serve_provider("openai", dims=24) as server:
        items = items_of(2)

        async with bulk_fixture(server) as stage:
            job_id = await stage.api.submit(items)
            await stage.api.poll(job_id)
            desk = batch_api_of(server)
            name = f"file-{job_id}-output"
            lines = [json.loads(line) for line in desk.files[name].splitlines()]
            lines[1]["custom_id"], other = lines[0]["custom_id"], lines[1]["custom_id"]
            error = {"custom_id": lines[0]["custom_id"], "response": None, "error": {"code": "late"}}
            desk.files[name] = b"\n".join(json.dumps(line).encode() for line in [*lines, error])
            assert other != lines[0]["custom_id"]
            results = await stage.api.results(job_id, hashes_of(items))
        assert list(results.vectors) == hashes_of(items)[1:]
        np.testing.assert_allclose(results.vectors[items[1][0]], server.vector(items[1][1]), atol=1e-6)
