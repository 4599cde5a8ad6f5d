"""Tests that any number of a provider or file is clamped to valid values."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgpack
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.numbers import (
    MAX_COUNT,
    MAX_DIMENSIONS,
    MAX_REPLY_TOKENS,
    MAX_TIME_MS,
    clamped_count,
    token_count_of,
)
from memd.embedding.remote.bulk.jobs import records_from_json
from memd.embedding.remote.failures import read_error_body, retry_after_s
from memd.embedding.remote.token_budget import DAY_MS
from memd_client.errors import MemdError, ProviderReplyError
from memd_client.schema import to_wire
from tests.support.bulk_fixture import bulk_fixture, items_of, override_replies
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import DialectName, ProviderReply, json_reply
from tests.support.provider_server import serve_provider
from tests.support.remote_fixture import (
    ACCOUNT_LIMITS,
    MovableClock,
    RemoteFixture,
    adapter,
    endpoint,
    running,
)

HOSTILE: tuple[Any, ...] = (
    9 * 10**18, 1 << 63, 1 << 64, 10**30, -1, -(1 << 64), 1e308, 0.5, -0.0, "12", "9" * 5000, "x", None, True, [], {},
)  # fmt: skip
numbers = (
    st.integers()
    | st.sampled_from(HOSTILE)
    | st.integers(-(1 << 80), 1 << 80)
    | st.floats()
    | st.text(st.characters(categories=["Nd", "No"]), max_size=30)
)
DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")


def packed(value: Any) -> bytes:
    """Return a report as msgpack, without the checks of the daemon's replies."""
    body: bytes = msgpack.packb(to_wire(value))
    return body


@given(numbers)
def test_any_number_is_clamped_to_a_range_that_can_be_shown(value: Any) -> None:
    assert 0 <= clamped_count(value) <= MAX_COUNT
    assert 0 <= clamped_count(value, 7) <= 7
    counted = token_count_of(value)
    assert counted is None or 0 <= counted <= MAX_REPLY_TOKENS


def test_numbers_are_clamped_to_their_bounds() -> None:
    assert [clamped_count(value) for value in (0, 5, "12", MAX_COUNT, 10**30, -5, 0.5, True, None, "²", "٣")] == [
        0, 5, 12, MAX_COUNT, MAX_COUNT, 0, 0, 0, 0, 0, 0,
    ]  # fmt: skip


def usage_rewrite(number: Any) -> Callable[[HttpRequest, ProviderReply], ProviderReply]:
    """Return a rewrite that sets the token count of every reply."""

    def rewrite(asked: HttpRequest, reply: ProviderReply) -> ProviderReply:
        usage = {"total_tokens": number, "prompt_tokens": number}
        google = {"promptTokenCount": number, "totalTokenCount": number}
        return json_reply(
            {**json.loads(reply.body), "usage": usage, "usageMetadata": google, "prompt_eval_count": number}
        )

    return rewrite


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_implausible_token_counts_are_replaced_by_estimates(
    dialect: DialectName,
) -> None:
    async def test(world: RemoteFixture) -> None:
        for number in HOSTILE:
            world.server.rewrite = usage_rewrite(number)
            before = world.account.status().tokens_today
            assert (await world.provider().embed_batch(["one text", "another"])).shape[0] == 2
            assert 0 < world.account.status().tokens_today - before < 100
        packed([*world.accounts.status(), world.accounts.tokens_today])
        assert world.account.status().tokens_today < 100 * len(HOSTILE)

    with serve_provider(dialect, dims=8) as server:
        with trio.fail_after(120):
            world = RemoteFixture(server)
            await test(world)
            await world.http.aclose()


@given(st.lists(numbers, min_size=1, max_size=4), st.sampled_from(DIALECTS))
def test_any_usage_gives_a_valid_count(usage: list[Any], dialect: str) -> None:
    replies = {
        "gemini": {"embeddings": [{"values": [1.0]}], "usageMetadata": {"promptTokenCount": usage[0]}},
        "ollama": {"embeddings": [[1.0]], "prompt_eval_count": usage[0]},
    }
    usual = {"data": [{"embedding": [1.0], "index": 0}], "usage": {"total_tokens": usage[0]}}
    try:
        reply = adapter(dialect).parse(json.dumps(replies.get(dialect, usual)).encode(), 1)
    except ProviderReplyError:
        return  # a number of 5,000 digits is invalid JSON for the decoder
    assert reply.tokens is None or 0 <= reply.tokens <= MAX_REPLY_TOKENS


@given(st.lists(numbers, min_size=2, max_size=2))
def test_any_index_is_a_position_or_an_error(indexes: list[Any]) -> None:
    data = [{"embedding": [float(at), 1.0], "index": index} for at, index in enumerate(indexes)]
    body = json.dumps({"data": data}).encode()
    if indexes in ([0, 1], [1, 0], [None, None]) and not any(
        isinstance(one, bool | float) for one in indexes
    ):
        assert adapter("openai").parse(body, 2).vectors.shape == (2, 2)
        return
    with pytest.raises(ProviderReplyError):
        adapter("openai").parse(body, 2)


@pytest.mark.parametrize("dialect", ["openai", "ollama", "gemini"])
def test_vector_beyond_the_size_limit_is_refused(dialect: str) -> None:
    row = "[" + "1," * MAX_DIMENSIONS + "1]"
    bodies = {
        "openai": f'{{"data": [{{"embedding": {row}}}]}}',
        "ollama": f'{{"embeddings": [{row}]}}',
        "gemini": f'{{"embeddings": [{{"values": {row}}}]}}',
    }
    with pytest.raises(ProviderReplyError, match=f"more than {MAX_DIMENSIONS} dimensions"):
        adapter(dialect).parse(bodies[dialect].encode(), 1)


@given(numbers, numbers, numbers, st.sampled_from(["openai", "voyage"]))
def test_any_pause_in_headers_and_body_is_at_most_a_day(
    header: Any, millis: Any, delay: Any, name: str
) -> None:
    headers = {"retry-after": str(header), "retry-after-ms": str(millis), "date": str(delay)}
    body = json.dumps({"error": {"details": [{"retryDelay": f"{delay}s"}]}}).encode()
    pause = retry_after_s(headers, read_error_body(body))
    assert pause is None or 0 <= pause <= 86_400
    error = adapter(name).failure(429, headers, body)
    msgpack.packb(error.to_wire())


@pytest.mark.parametrize(
    "date", ["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "Mon, 99 Jan 99999"]
)
def test_any_date_in_headers_is_a_pause_of_at_most_a_day_or_none(date: str) -> None:
    for other in ("Wed, 21 Oct 2026 07:28:00 GMT", date, "1"):
        for headers in ({"retry-after": date, "date": other}, {"retry-after": other, "date": date}):
            pause = retry_after_s(headers, read_error_body(b""))
            assert pause is None or 0 <= pause <= 86_400


# --- batch jobs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", HOSTILE, ids=lambda value: str(value)[:12])
@pytest.mark.parametrize("dialect", ["openai", "voyage", "gemini"])
async def test_counts_of_a_job_stay_within_its_texts(
    dialect: DialectName, number: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"total": number, "completed": number, "failed": number}
    stats = {"requestCount": number, "successfulRequestCount": number, "failedRequestCount": number}
    job = {"id": "job-1", "name": "batches/1", "status": "in_progress", "request_counts": counts}
    running_job = json_reply({**job, "metadata": {"state": "BATCH_STATE_RUNNING", "batchStats": stats}})
    seen: list[Any] = []
    with serve_provider(dialect, dims=8) as server:

        def answer(method: str, path: str) -> ProviderReply | None:
            return running_job if method == "GET" and "/batches/" in path else None

        override_replies(server, monkeypatch, answer)
        async with bulk_fixture(server) as stage:
            bulk = stage.run()

            async def look() -> None:
                seen.extend(bulk.status())
                if len(stage.pauses) > 3:
                    scope.cancel()
                    await trio.lowlevel.checkpoint()

            stage.on_pause = look
            with trio.CancelScope() as scope:
                await bulk.embed(items_of(2))
    assert seen
    assert all(job.state == "running" and 0 <= job.done <= job.texts == 2 for job in seen)
    packed(seen)


@given(numbers)
def test_time_of_any_stored_job_is_valid(submitted: Any) -> None:
    record = {
        "id": "1",
        "provider": "p",
        "space": "s",
        "account": "a",
        "hashes": [],
        "submitted_ms": submitted,
    }
    for found in records_from_json(json.dumps([record])):
        assert 0 <= found.submitted_ms <= MAX_TIME_MS


# --- saved numbers ----------------------------------------------------------------------------------


@given(
    day=st.sampled_from([0, 1]),
    calls=numbers,
    tokens=numbers,
    times=st.lists(numbers, min_size=5, max_size=5),
)
async def test_any_stored_numbers_give_a_valid_status(
    tmp_path_factory: pytest.TempPathFactory, day: int, calls: Any, tokens: Any, times: list[Any]
) -> None:
    clock = MovableClock()
    names = ("since_ms", "until_ms", "window_ms", "failures", "is_trying")
    door = {"code": "provider_auth", "message": "m", "hint": "h", **dict(zip(names, times, strict=True))}
    today = clock() // DAY_MS - day
    record = {
        "provider": "openai",
        "day": today,
        "calls": calls,
        "tokens": tokens,
        "breaker": door,
    }
    path = tmp_path_factory.mktemp("stored") / "accounts.json"

    async with running(path, clock, 1000) as found:
        key = found.account_for(endpoint(), ACCOUNT_LIMITS).key
    path.write_text(
        json.dumps({"format": 1, "day": today, "spent": tokens, "accounts": {key: record, "x": record}})
    )
    async with running(path, clock, 1000) as found:
        account = found.account_for(endpoint(), ACCOUNT_LIMITS)
        for _ in range(2):
            packed([*found.status(), found.tokens_today])
            for status in found.status():
                for moment in (status.since_ms, status.until_ms):
                    assert moment is None or datetime.fromtimestamp(moment / 1000, UTC)
            try:
                account.begin(1, metered=True, model="m").record_success(MAX_REPLY_TOKENS)
            except MemdError as error:
                msgpack.packb(error.to_wire())
