"""Watching: in place, through the daemon's absence, and out again with the terminal as it was."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from memd.cli.connect import Session, open_watcher
from memd.cli.output import Output, Stream
from memd.cli.top import Painter
from memd.cli.watching import was_q_pressed, watch
from memd_client import Client
from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError
from memd_client.messages import MetricsReply
from tests.unit.cli.figure_maker import figures
from tests.unit.cli.stage import NOW_MS, FakeClient, memctl, status_of

LEAVE_SCREEN = "\x1b[?1049l"
"""What brings back the terminal's earlier content."""


class Script(FakeClient):
    """A client whose looks are given one by one."""

    def __init__(self, *looks: MetricsReply | MemdError) -> None:
        super().__init__({})
        self._looks = iter(looks)

    def metrics(self) -> MetricsReply:
        """Answer, or fail, as it is next in the script."""
        look = next(self._looks)
        if isinstance(look, MemdError):
            raise look
        return look


def watched(first: FakeClient, then: FakeClient, looks: int, seen: list[str]) -> io.StringIO:
    """Watch `top` for some looks; what each wait finds on the screen goes to `seen`."""
    screen = io.StringIO()
    streams = [Stream(screen, terminal=True, colour=False, width=80) for _ in range(2)]
    output = Output(streams[0], streams[1], lambda: 0.0)
    session = Session(lambda: cast(Client, first), output, lambda: NOW_MS, lambda: cast(Client, then))
    place = 0

    def wait(seconds: float) -> bool:
        nonlocal place
        assert seconds == 1.0
        text = screen.getvalue()
        seen.append(text[place:])
        place = len(text)
        return len(seen) > looks

    watch(session, 1.0, Painter().paint, wait)
    return screen


def test_every_look_takes_the_place_of_the_last() -> None:
    seen: list[str] = []
    then = Script(figures(11_000, searches=107))

    watched(Script(figures(10_000, searches=100)), then, 1, seen)

    assert "10.0 a second" in seen[0]
    assert "7.0 a second" in seen[1]
    assert then.closed


def test_a_daemon_that_goes_away_is_told_and_waited_for() -> None:
    seen: list[str] = []
    gone = DaemonUnreachableError("nobody listens at /run/s")
    then = Script(gone, gone, figures(500, pid=7, searches=3))

    watched(Script(figures(10_000, searches=100)), then, 3, seen)

    for away in seen[1:3]:
        assert "the daemon is away: nobody listens at /run/s (daemon_unreachable)" in away
        assert "pid 4242" in away
    assert "the daemon is away" not in seen[3]
    assert "pid 7" in seen[3]


def test_the_first_look_alone_may_start_a_daemon() -> None:
    first, then = Script(figures(10_000)), Script(figures(11_000))

    watched(first, then, 1, [])

    assert first.closed
    assert next(first._looks, None) is next(then._looks, None) is None


def test_leaving_gives_the_terminal_back() -> None:
    screen = watched(Script(figures(10_000)), Script(), 0, [])

    assert screen.getvalue().rstrip().endswith(LEAVE_SCREEN)


def test_ctrl_c_gives_the_terminal_back_and_is_told_by_the_exit_code() -> None:
    class Interrupted(Script):
        def metrics(self) -> MetricsReply:
            raise KeyboardInterrupt

    screen = io.StringIO()
    stream = Stream(screen, terminal=True, colour=False, width=80)
    output = Output(stream, stream, lambda: 0.0)
    session = Session(
        lambda: cast(Client, Script(figures(1))), output, lambda: NOW_MS, lambda: cast(Client, Interrupted())
    )

    with pytest.raises(KeyboardInterrupt):
        watch(session, 1.0, Painter().paint, lambda _: False)

    assert screen.getvalue().rstrip().endswith(LEAVE_SCREEN)


def test_a_first_look_that_fails_is_an_error_like_any_other() -> None:
    unknown = AgentUnknownError("there is no agent 'x'")

    ran = memctl("status", "--watch", "--agent", "x", terminal=True, colour=False, status=unknown)

    assert ran.code == 1
    assert "there is no agent 'x'" in ran.err
    assert LEAVE_SCREEN not in ran.out


def test_a_watched_status_is_printed_once_into_a_pipe() -> None:
    assert memctl("status", "--watch", status=status_of()).out == memctl("status", status=status_of()).out


def test_a_watched_status_is_no_json() -> None:
    ran = memctl("status", "--watch", "--json", status=status_of())

    assert ran.code == 2
    assert "--watch" in ran.err


@contextmanager
def keyboard(*pressed: bytes) -> Iterator[int]:
    """Yield a descriptor that gives these keys and then nothing, or its end for an empty one."""
    read, write = os.pipe()
    ends = [read]
    for keys in pressed:
        if keys:
            os.write(write, keys)
    if b"" in pressed:
        os.close(write)
    else:
        ends.append(write)
    try:
        yield read
    finally:
        for end in ends:
            os.close(end)


@pytest.mark.parametrize(
    ("keys", "leaves"), [((b"q",), True), ((b"xQ",), True), ((b"x",), False), ((b"",), True)]
)
def test_q_leaves_and_other_keys_do_not(keys: tuple[bytes, ...], leaves: bool) -> None:
    with keyboard(*keys) as descriptor:
        assert was_q_pressed(descriptor, 0.01) is leaves


def test_a_watcher_never_starts_a_daemon(monkeypatch: pytest.MonkeyPatch, short_path: Path) -> None:
    def start(*_: object) -> None:
        raise AssertionError("a daemon was started")

    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "s"))
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)
    monkeypatch.setattr("memd_client.discovery.start_and_wait", start)

    with pytest.raises(DaemonUnreachableError):
        open_watcher().status()
