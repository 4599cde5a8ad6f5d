"""Pauses grow, chance spreads them, and what is hopeless or paid for is not tried again at once."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.remote.retry import (
    FIRST_BACKOFF_S,
    LONGEST_BACKOFF_S,
    SPREAD,
    backoff_s,
    is_transient,
    named_pause_s,
)
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TextRefusedError,
    TokenBudgetError,
)


def test_pauses_double_from_half_a_second_to_eight() -> None:
    assert [backoff_s(attempt, lambda: 0.0) for attempt in range(7)] == [0.5, 1, 2, 4, 8, 8, 8]


@given(attempt=st.integers(0, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_chance_lengthens_a_pause_within_bounds(attempt: int, chance: float) -> None:
    pause_s = backoff_s(attempt, lambda: chance)
    plain_s = backoff_s(attempt, lambda: 0.0)

    assert FIRST_BACKOFF_S <= plain_s <= pause_s <= min(LONGEST_BACKOFF_S, plain_s * (1 + SPREAD))


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ProviderUnreachableError(""), True),
        (ProviderRateLimitedError(""), True),
        (ProviderFailedError("", data={"transient": True}), True),
        (ProviderFailedError("a request it doesn't understand"), False),
        (ProviderReplyError("paid for"), False),
        (ProviderQuotaError(""), False),
        (ProviderAuthError(""), False),
        (ProviderModelError(""), False),
        (TextRefusedError(""), False),
        (TokenBudgetError(""), False),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again_at_once(error: ProviderFailedError, again: bool) -> None:
    assert is_transient(error) is again


@pytest.mark.parametrize(
    ("data", "pause_s"),
    [({}, 0), ({"retry_after_s": 40}, 40), ({"retry_after_s": 1.5}, 1.5), ({"retry_after_s": -3}, 0)]
    + [({"retry_after_s": odd}, 0) for odd in ("40", None, math.nan, [1])],
)
def test_a_named_pause_is_a_number_of_seconds_or_none(data: dict[str, object], pause_s: float) -> None:
    assert named_pause_s(ProviderRateLimitedError("", data=data)) == pause_s
