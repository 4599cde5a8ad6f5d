"""A server nobody knows is given more texts a request while it is quick, and the usual number where that fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memd.embedding.remote import adaptive_batch_size as portions
from memd.embedding.remote.adaptive_batch_size import QUICK_S, SLOW_S, AdaptiveBatchSize
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TextRefusedError,
)
from tests.support.provider_faults import Fault, FaultKind
from tests.unit.embedding.asking import ONE, World, run

GROWING = replace(ONE, quick_texts=16)
TEXTS = [f"text {number}" for number in range(64)]


@pytest.fixture
def any_server_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no reply be slow, however busy the machine is."""
    monkeypatch.setattr(portions, "QUICK_S", 1000.0)
    monkeypatch.setattr(portions, "SLOW_S", 2000.0)


def grown() -> AdaptiveBatchSize:
    """Return portions that have reached their most."""
    found = AdaptiveBatchSize(GROWING)
    for texts in (4, 8, 16):
        found.answered(texts, 0.0)
    assert found.limits.max_texts == 16
    return found


def test_full_requests_that_are_answered_quickly_grow_to_the_most() -> None:
    found = AdaptiveBatchSize(GROWING)
    for took_s, texts, after in (
        (0.0, 3, 4),
        (QUICK_S, 4, 4),
        (0.1, 4, 8),
        (0.1, 4, 8),
        (0.1, 8, 16),
        (0.1, 16, 16),
    ):
        found.answered(texts, took_s)
        assert found.limits == replace(GROWING, max_texts=after)


def test_slow_ones_shrink_to_the_usual_and_may_grow_again() -> None:
    found = grown()
    for after in (8, 4, 4):
        found.answered(1, SLOW_S + 0.1)
        assert found.limits.max_texts == after
    found.answered(4, 0.1)
    assert found.limits.max_texts == 8


def test_a_provider_with_limits_of_its_own_keeps_them() -> None:
    found = AdaptiveBatchSize(ONE)
    for took_s in (0.0, 10.0):
        found.answered(ONE.max_texts, took_s)
        assert found.limits is ONE


@pytest.mark.parametrize("error", [ProviderFailedError, ProviderReplyError, TextRefusedError])
def test_what_fails_with_more_than_usual_ends_the_growth_for_good(error: type[ProviderFailedError]) -> None:
    found = grown()
    assert not found.is_blamed(4, error("no"))
    assert found.limits.max_texts == 16
    assert found.is_blamed(16, error("no"))
    assert found.is_blamed(16, error("another that was under way"))
    found.answered(4, 0.0)
    assert found.limits.max_texts == 4


@pytest.mark.parametrize(
    "error",
    [ProviderUnreachableError, ProviderRateLimitedError, ProviderQuotaError, ProviderAuthError],
)
def test_failures_of_other_causes_are_what_they_are(error: type[ProviderFailedError]) -> None:
    found = grown()
    assert not found.is_blamed(16, error("no"))
    assert found.limits.max_texts == 16


@pytest.mark.usefixtures("any_server_is_quick")
def test_a_provider_asks_a_quick_server_for_more_and_more() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        sizes: list[int] = []
        while sum(sizes) < len(TEXTS):
            sizes.append(provider.limits.max_texts)
            await provider.embed_batch(TEXTS[: sizes[-1]])
        assert [len(texts) for texts in world.asked] == sizes == [4, 8, 16, 16, 16, 16]

    run(test, "compatible", limits=GROWING)


@pytest.mark.usefixtures("any_server_is_quick")
@pytest.mark.parametrize("kind", ["server_error", "text_refused", "too_few"])
def test_a_server_that_takes_no_more_than_usual_gets_that_and_no_failure_counts(kind: FaultKind) -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        world.server.fault = Fault(kind, from_texts=5)
        await provider.embed_batch(TEXTS[:4])
        found = await provider.embed_batch(TEXTS[:9])
        assert [row.tolist() for row in found] == [
            pytest.approx(world.server.vector(text).tolist(), abs=1e-6) for text in TEXTS[:9]
        ]
        await provider.embed_batch(TEXTS[:8])
        assert [len(texts) for texts in world.asked] == [4, 8, 4, 4, 1, 4, 4]
        assert world.pauses == []
        assert world.account.status().code == ""
        assert world.account.retry_in_s() == 0

    run(test, "compatible", limits=GROWING)


@pytest.mark.usefixtures("any_server_is_quick")
def test_a_server_that_is_down_fails_with_the_usual_number_as_it_always_did() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        await provider.embed_batch(TEXTS[:4])
        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderFailedError):
            await provider.embed_batch(TEXTS[:8])
        assert [len(texts) for texts in world.asked] == [4, 8, 4, 4, 4]
        assert world.account.retry_in_s() > 0

    run(test, "compatible", limits=GROWING)
