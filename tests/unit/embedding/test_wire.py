"""Tests of frames between the daemon and a model process."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import wire

messages = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["embed", "vector"]),
        "id": st.integers(0, 2**40),
        "data": st.binary(max_size=200),
    }
)


@given(st.lists(messages, max_size=6), st.lists(st.integers(1, 50), max_size=40))
def test_messages_are_complete_however_the_stream_is_split(sent: list[wire.Message], cuts: list[int]) -> None:
    stream = b"".join(wire.encode(message) for message in sent)
    reader, got = wire.FrameReader(), []
    for cut in [*cuts, len(stream)]:
        got += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert got == sent


@given(st.lists(messages, max_size=4))
def test_blocking_reader_returns_the_same_messages_and_the_end(sent: list[wire.Message]) -> None:
    stream = io.BytesIO(b"".join(wire.encode(message) for message in sent))
    assert [wire.read_message(stream) for _ in sent] == sent
    assert wire.read_message(stream) is None


@given(st.binary(max_size=100))
def test_invalid_bytes_raise_only_a_wire_error(data: bytes) -> None:
    with contextlib.suppress(wire.WireError):
        wire.FrameReader().feed(data)


def test_frame_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(wire.WireError, match="announces"):
        wire.FrameReader().feed(wire.HEADER.pack(wire.MAX_FRAME_BYTES + 1))


def test_frame_without_a_kind_is_refused() -> None:
    with pytest.raises(wire.WireError, match="kind"):
        wire.FrameReader().feed(wire.HEADER.pack(1) + b"\x01")


def test_end_within_a_frame_is_an_end_of_stream() -> None:
    assert wire.read_message(io.BytesIO(wire.encode({"kind": "embed"})[:-1])) is None


def test_unpackable_message_is_refused() -> None:
    with pytest.raises(wire.WireError, match="packed"):
        wire.encode({"kind": "embed", "text": "\ud800"})
