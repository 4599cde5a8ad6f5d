"""No integer costs a reply: what 64 bits can't hold becomes the nearest number that they can."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.rpc.packing import MAX_INTEGER, MIN_INTEGER, encode_reply
from memd_client.errors import BadParamsError, FrameTooBigError
from memd_client.framing import HEADER_BYTES, encode_frame

integers = st.integers() | st.integers(-(1 << 80), 1 << 80)
values = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(values)
def test_any_integers_can_be_sent_and_those_of_64_bits_come_as_they_are(value: Any) -> None:
    def nearest(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: nearest(inner) for key, inner in one.items()}
        if isinstance(one, list):
            return [nearest(inner) for inner in one]
        is_integer = isinstance(one, int) and not isinstance(one, bool)
        return min(max(one, MIN_INTEGER), MAX_INTEGER) if is_integer else one

    assert msgpack.unpackb(encode_reply(value)[HEADER_BYTES:]) == nearest(value)


def test_reply_without_large_integers_is_the_frame_of_the_client() -> None:
    assert encode_reply({"a": [1, -2, "x", 0.5]}) == encode_frame({"a": [1, -2, "x", 0.5]})


def test_value_that_is_none_of_msgpacks_stays_an_error() -> None:
    for value in ({1, 2}, [1 << 70, object()]):
        with pytest.raises(BadParamsError):
            encode_reply(value)
    with pytest.raises(FrameTooBigError):
        encode_reply("x" * 100, 50)
