"""The values that a hook reads and writes without the packages of the full client: JSON and msgpack."""

from __future__ import annotations

import json
import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.framing import MAX_FRAME_BYTES, FrameDecoder
from memd_client.hook_exchange import ExchangeFailedError, request_frame, unpacked
from memd_client.hook_program import output, parse_json

TEXTS = st.text() | st.text(alphabet=st.characters(categories=["Cs", "Lu"]), max_size=3)


@given(TEXTS)
def test_any_text_is_printed_as_json(text: str) -> None:
    printed = output("codex", "prompt", text)

    sent = text.encode("utf-8", "replace").decode()
    assert printed or not text.strip()
    if printed:
        assert json.loads(printed)["hookSpecificOutput"]["additionalContext"] == sent


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=2)

    assert parse_json(text.encode("utf-8", "surrogatepass")) == json.loads(text)


def test_numbers_that_are_none_are_read() -> None:
    found = parse_json(b"[NaN, -Infinity]")
    assert math.isnan(found[0])
    assert found[1] == -math.inf


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_json_or_a_value_error(data: bytes) -> None:
    try:
        expected = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        with pytest.raises(ValueError, match=r"."):
            parse_json(data)
    else:
        assert parse_json(data) == expected or expected != expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=60,
)


@given(VALUES)
def test_msgpack_is_read_as_the_full_client_reads_it(value: Any) -> None:
    assert unpacked(msgpack.packb(value)) == value


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_exchange_error(data: bytes) -> None:
    try:
        unpacked(data)
    except ExchangeFailedError:
        return
    except (ValueError, MemoryError, OverflowError) as error:
        pytest.fail(repr(error))


@given(st.dictionaries(st.sampled_from(["prompt", "cwd", "agent"]), st.none() | TEXTS))
def test_a_request_is_a_frame_of_the_protocol(params: dict[str, str | None]) -> None:
    frame = request_frame(2, "hook", params)

    [[kind, number, method, sent]] = FrameDecoder(MAX_FRAME_BYTES).feed(frame)
    assert (kind, number, method) == (0, 2, "hook")
    assert sent == {
        name: None if text is None else text.encode("utf-8", "replace").decode()
        for name, text in params.items()
    }
