"""The line writer: a bounded queue that counts dropped lines and never blocks its callers."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import TextIO, cast

import pytest

from memd.system.line_writer import MAX_PART_CHARS, LineWriter, QueuedText

LINE = b"y" * 99 + b"\n"


@pytest.fixture
def full_pipe() -> Iterator[tuple[int, int]]:
    """The read end and the write end of a full pipe."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    yield read, write
    os.close(read)


def test_lines_for_a_full_pipe_are_bounded_and_dropped_lines_counted(full_pipe: tuple[int, int]) -> None:
    read, write = full_pipe
    writer = LineWriter(write, max_bytes=10 * len(LINE))

    for _ in range(25):
        writer.put(LINE)
    assert not writer.drain(0.05)
    assert writer.lost == 15

    # when: the pipe is read again
    read_bytes = bytearray()
    reader = threading.Thread(target=_read_to_end, args=(read, read_bytes))
    reader.start()
    assert writer.drain(30)
    os.close(write)
    reader.join()
    lines = bytes(read_bytes).lstrip(b"x").splitlines(keepends=True)
    assert sorted(lines) == sorted([LINE] * 10 + [b"15 log lines dropped\n"])


def _read_to_end(read: int, into: bytearray) -> None:
    while data := os.read(read, 65_536):
        into += data


def test_a_line_larger_than_the_queue_is_written_alone() -> None:
    read, write = os.pipe()
    writer = LineWriter(write, max_bytes=10)

    writer.put(LINE)

    assert writer.drain(30)
    assert os.read(read, 1000) == LINE
    os.close(read)
    os.close(write)


def test_draining_an_unused_writer_returns_at_once() -> None:
    assert LineWriter(2).drain(0)


def test_queued_text_passes_complete_lines_and_the_rest_when_flushed() -> None:
    lines = list[str]()
    text = QueuedText(lines.append)

    for part in ("one", " line\nand", " a part"):
        text.write(part)
    assert lines == ["one line\n"]
    text.flush()
    text.write("x" * (MAX_PART_CHARS + 1))

    assert lines == ["one line\n", "and a part", "x" * (MAX_PART_CHARS + 1)]


def test_traceback_is_written_to_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list[str]()
    monkeypatch.setattr(sys, "stderr", cast(TextIO, QueuedText(lines.append)))

    try:
        raise ValueError("of a test")
    except ValueError:
        traceback.print_exc()

    assert lines[0] == "Traceback (most recent call last):\n"
    assert lines[-1] == "ValueError: of a test\n"
