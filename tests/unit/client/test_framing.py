"""Frames, and records as values of the wire."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.errors import BadParamsError, FrameInvalidError, FrameTooBigError
from memd_client.framing import HEADER_BYTES, MAX_FRAME_BYTES, FrameDecoder, encode_frame
from memd_client.messages import REQUESTS
from memd_client.record import field, record
from memd_client.wire import from_wire, to_wire

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
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{field.name: example_of(hints[field.name]) for field in fields(kind)})
    return PLAIN.get(kind, "text")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_reply_is_unchanged_by_encoding_and_decoding(name: str) -> None:
    _, reply = REQUESTS[name]
    example = example_of(reply)
    assert from_wire(reply, to_wire(example)) == example


@record
class Made:
    """A record."""

    name: str
    size: int = 3
    rows: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plain:
    """The same as a dataclass."""

    name: str
    size: int = 3
    rows: list[str] = dataclasses.field(default_factory=list)


texts = st.text(max_size=5)
arguments = st.one_of(
    st.tuples(texts),
    st.tuples(texts, st.integers()),
    st.tuples(texts, st.integers(), st.lists(texts, max_size=2)),
)


@given(arguments, st.dictionaries(st.sampled_from(["name", "size", "rows", "other"]), st.none(), max_size=3))
def test_a_record_is_created_and_shown_like_a_dataclass(
    values: tuple[object, ...], named: dict[str, None]
) -> None:
    def outcome(kind: type) -> object:
        try:
            made = kind(*values, **named)
        except TypeError:
            return TypeError
        return repr(made).partition("(")[2], [getattr(made, each.name) for each in fields(made)]

    assert outcome(Made) == outcome(Plain)


def test_records_are_equal_if_class_and_values_are() -> None:
    assert Made("a", rows=["x"]) == Made("a", 3, ["x"])
    assert Made("a") != Made("b")
    other: object = Plain("a")
    assert Made("a") != other


def test_each_record_gets_its_own_default_list() -> None:
    assert Made("a").rows is not Made("a").rows


def test_replace_changes_only_the_given_fields() -> None:
    assert replace(Made("a", 4), size=5) == Made("a", 5)


def test_a_record_is_frozen() -> None:
    made = Made("a")
    with pytest.raises(FrozenInstanceError):
        made.size = 4  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.size
    assert made.size == 3


def test_a_record_without_a_required_field_raises_a_type_error() -> None:
    with pytest.raises(TypeError, match="needs name"):
        Made()  # type: ignore[call-arg]
