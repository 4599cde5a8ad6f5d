"""Frames, and records as values of the wire."""

from __future__ import annotations

import contextlib
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.errors import BadParamsError, FrameInvalidError, FrameTooBigError
from memd_client.framing import HEADER_BYTES, MAX_FRAME_BYTES, FrameDecoder, encode_frame
from memd_client.messages import REQUESTS, HelloReply, SearchAgentsReply, Supersession
from memd_client.schema import Record, from_wire, to_wire

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text()
    | st.binary()
    | st.floats(allow_nan=False)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(st.lists(values, max_size=5), st.data())
def test_frames_are_decoded_from_a_stream_split_at_any_position(
    sent: list[object], data: st.DataObject
) -> None:
    stream = b"".join(encode_frame(value) for value in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    decoder = FrameDecoder()
    received: list[object] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += decoder.feed(stream[start:end])
    assert received == sent
    assert repr(decoder) == "<FrameDecoder 0 bytes waiting>"


@given(st.binary(max_size=200))
def test_random_bytes_decode_to_values_or_raise_a_protocol_error(garbage: bytes) -> None:
    with contextlib.suppress(FrameInvalidError, FrameTooBigError):
        FrameDecoder().feed(garbage)


def test_an_announced_length_over_the_limit_is_rejected_before_its_bytes_arrive() -> None:
    decoder = FrameDecoder()
    with pytest.raises(FrameTooBigError, match=str(MAX_FRAME_BYTES + 1)):
        decoder.feed((MAX_FRAME_BYTES + 1).to_bytes(HEADER_BYTES, "big") + b"x" * 1000)
    assert repr(decoder) == "<FrameDecoder broken>"


def test_a_frame_of_the_maximum_size_is_accepted_and_one_byte_more_is_not() -> None:
    overhead = len(msgpack.packb(b"x" * 100_000)) - 100_000
    largest = b"x" * (MAX_FRAME_BYTES - overhead)
    assert FrameDecoder().feed(encode_frame(largest)) == [largest]
    with pytest.raises(FrameTooBigError):
        encode_frame(largest + b"x")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x01\x02",
        b"\x91" * 5000,
        b"\xdd\xff\xff\xff\xff",
        b"\xa3abc"[:3],
        b"\xa2\xff\xfe",
        b"\x81\x01\x02",
        b"\x81\x90\x02",
        b"\xd7\xff" + b"\xff" * 8,
    ],
    ids=[
        "empty",
        "reserved",
        "two values",
        "too deep",
        "giant array",
        "cut",
        "not UTF-8",
        "int key",
        "list key",
        "bad time",
    ],
)
def test_a_body_that_is_not_one_value_is_invalid(body: bytes) -> None:
    with pytest.raises(FrameInvalidError):
        FrameDecoder().feed(len(body).to_bytes(HEADER_BYTES, "big") + body)


def test_after_an_error_the_decoder_stays_broken() -> None:
    decoder = FrameDecoder()
    with pytest.raises(FrameInvalidError):
        decoder.feed(b"\0\0\0\1\xc1")
    with pytest.raises(FrameInvalidError, match="unusable"):
        decoder.feed(encode_frame(1))


def test_a_lone_surrogate_is_sent_as_a_question_mark() -> None:
    assert FrameDecoder().feed(encode_frame("a\ud83db")) == ["a?b"]


@pytest.mark.parametrize("value", [{1, 2}, object(), 2**64, -(2**63) - 1])
def test_an_unencodable_value_raises_bad_params(value: object) -> None:
    with pytest.raises(BadParamsError, match="can't be sent"):
        encode_frame([value])


def test_a_value_that_contains_itself_raises_bad_params() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(BadParamsError, match="can't be sent"):
        encode_frame(loop)


@pytest.mark.parametrize(
    "body",
    [
        b"\xdc\x00\x65" + b"\x80" * 101,
        b"\x92" + (b"\xdc\x00\x40" + b"\xc0" * 64) * 2,
        b"\xde\x00\x65" + b"".join(b"\xa2" + b"%02d" % (number % 100) + b"\xc0" for number in range(101)),
        (b"\xdd\x00\x00\x00\x64") * 300 + b"\xc0",
        b"\xdd\xff\xff\xff\xff",
    ],
    ids=["list", "lists in a list", "map", "lists that announce more than they hold", "a list without end"],
)
def test_a_frame_with_too_many_values_is_rejected(body: bytes) -> None:
    decoder = FrameDecoder(max_values=100)

    with pytest.raises(FrameInvalidError):
        decoder.feed(len(body).to_bytes(HEADER_BYTES, "big") + body)


def test_a_frame_with_the_maximum_of_values_is_accepted_unchanged() -> None:
    value = [{"a": [1, 2]}, [None] * 5]

    assert FrameDecoder(max_values=10).feed(encode_frame(value)) == [value]
    with pytest.raises(FrameInvalidError):
        FrameDecoder(max_values=9).feed(encode_frame(value))


def test_a_decoder_reports_the_bytes_of_an_incomplete_frame() -> None:
    decoder = FrameDecoder()
    frame = encode_frame([1])
    begun = []

    for data in (b"", frame + frame[:3], frame[3:]):
        decoder.feed(data)
        begun.append(decoder.waiting_bytes > 0)

    assert begun == [False, True, False]


PLAIN: dict[type[Any], Any] = {str: "text", int: 3, float: 1.5, bool: True, bytes: b"\x00", dict: {"a": 1}}


def example_of(kind: Any) -> Any:
    """Return a value of a type, with one of everything inside it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return example_of(next(each for each in inner if each is not NoneType))
    if origin is list:
        return [example_of(inner[0])]
    if origin is dict:
        return {example_of(inner[0]): example_of(inner[1])}
    if isinstance(kind, type) and issubclass(kind, Record):
        hints = get_type_hints(kind)
        return kind(**{name: example_of(hints[name]) for name in kind.__struct_fields__})
    return PLAIN.get(kind, "text")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_reply_is_unchanged_by_encoding_and_decoding(name: str) -> None:
    reply = REQUESTS[name].reply
    example = example_of(reply)
    assert from_wire(reply, to_wire(example)) == example


def test_a_record_is_frozen() -> None:
    hit = Supersession("a.md", 1, 2, "a.md#L1-L2", "2026-01-01", "2025-01-01")
    with pytest.raises(AttributeError):
        hit.path = "b.md"  # type: ignore[misc]


def test_a_reply_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ValueError, match="took_ms"):
        from_wire(SearchAgentsReply, {"hits": [], "agents": [], "took_ms": "soon"})


def test_fields_of_a_newer_peer_are_ignored_and_missing_ones_get_their_default() -> None:
    reply = from_wire(
        HelloReply, {"protocol": 1, "version": "9", "pid": 1, "capabilities": [], "limits": {}, "mood": 1}
    )
    assert reply.state_dir == ""
