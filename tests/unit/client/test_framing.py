"""Frames: whole values out of any bytes, and every wrong byte named."""

import contextlib

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.errors import BadParamsError, FrameInvalidError, FrameTooBigError
from memd_client.framing import HEADER_BYTES, MAX_FRAME_BYTES, FrameDecoder, encode_frame

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
def test_values_survive_any_cut_of_the_stream(sent: list[object], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(value) for value in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    decoder = FrameDecoder()
    received: list[object] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += decoder.feed(stream[start:end])
    assert received == sent
    assert repr(decoder) == "<FrameDecoder 0 bytes waiting>"


@given(st.binary(max_size=200))
def test_garbage_gives_values_or_a_named_error(garbage: bytes) -> None:
    with contextlib.suppress(FrameInvalidError, FrameTooBigError):
        FrameDecoder().feed(garbage)


def test_an_announced_giant_is_refused_before_its_bytes_are_kept() -> None:
    decoder = FrameDecoder()
    with pytest.raises(FrameTooBigError, match=str(MAX_FRAME_BYTES + 1)):
        decoder.feed((MAX_FRAME_BYTES + 1).to_bytes(HEADER_BYTES, "big") + b"x" * 1000)
    assert repr(decoder) == "<FrameDecoder broken>"


def test_the_largest_frame_passes_and_one_byte_more_does_not() -> None:
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
def test_a_body_that_is_not_one_value_is_named_invalid(body: bytes) -> None:
    with pytest.raises(FrameInvalidError):
        FrameDecoder().feed(len(body).to_bytes(HEADER_BYTES, "big") + body)


def test_after_an_error_the_decoder_stays_broken() -> None:
    decoder = FrameDecoder()
    with pytest.raises(FrameInvalidError):
        decoder.feed(b"\0\0\0\1\xc1")
    with pytest.raises(FrameInvalidError, match="unusable"):
        decoder.feed(encode_frame(1))


def test_half_a_character_travels_as_a_question_mark() -> None:
    assert FrameDecoder().feed(encode_frame("a\ud83db")) == ["a?b"]


@pytest.mark.parametrize("value", [{1, 2}, object(), 2**64, -(2**63) - 1])
def test_what_msgpack_cannot_carry_is_a_named_error(value: object) -> None:
    with pytest.raises(BadParamsError, match="can't be sent"):
        encode_frame([value])


def test_a_value_that_holds_itself_is_a_named_error() -> None:
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
def test_a_frame_of_too_many_values_is_refused(body: bytes) -> None:
    decoder = FrameDecoder(max_values=100)

    with pytest.raises(FrameInvalidError):
        decoder.feed(len(body).to_bytes(HEADER_BYTES, "big") + body)


def test_as_many_values_as_allowed_pass_and_are_not_changed() -> None:
    value = [{"a": [1, 2]}, [None] * 5]

    assert FrameDecoder(max_values=10).feed(encode_frame(value)) == [value]
    with pytest.raises(FrameInvalidError):
        FrameDecoder(max_values=9).feed(encode_frame(value))


def test_a_decoder_says_whether_a_frame_is_begun() -> None:
    decoder = FrameDecoder()
    frame = encode_frame([1])
    begun = []

    for data in (b"", frame + frame[:3], frame[3:]):
        decoder.feed(data)
        begun.append(decoder.waiting_bytes > 0)

    assert begun == [False, True, False]
