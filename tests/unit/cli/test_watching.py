"""`--watch` and `top`: refreshing, an unresponsive daemon, and restoring the terminal."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from memd.cli.connect import CliSession, open_passive_client
from memd.cli.output import Output, OutputStream
from memd.cli.top import TopView
from memd.cli.watching import was_q_pressed, watch
from memd_client import Client
from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError
from memd_client.messages import MetricsReply
from tests.unit.cli.memctl_runner import NOW_MS, FakeClient, memctl, status_of
from tests.unit.cli.sample_metrics import figures

LEAVE_SCREEN = "\x1b[?1049l"
"""The escape sequence that restores the terminal's content."""


class Script(FakeClient):
    """A client with scripted replies."""

    def __init__(self, *looks: MetricsReply | MemdError) -> None:
        super().__init__({})
        self._looks = iter(looks)

    def metrics(self) -> MetricsReply:
        """Return or raise the next entry of the script."""
        look = next(self._looks)
        if isinstance(look, MemdError):
            raise look
        return look


def watched(first: FakeClient, then: FakeClient, looks: int, seen: list[str]) -> io.StringIO:
    """Watch `top` for some refreshes; add the screen at each wait to `seen`."""
    screen = io.StringIO()
    streams = [OutputStream(screen, terminal=True, colour=False, width=80) for _ in range(2)]
    output = Output(streams[0], streams[1], lambda: 0.0)
    session = CliSession(lambda: cast(Client, first), output, lambda: NOW_MS, lambda: cast(Client, then))
    place = 0

    def wait(seconds: float) -> bool:
        nonlocal place
        assert seconds == 1.0
        text = screen.getvalue()
        seen.append(text[place:])
        place = len(text)
        return len(seen) > looks

    watch(session, 1.0, TopView().paint, wait)
    return screen


def test_each_refresh_replaces_the_last() -> None:
    seen: list[str] = []
    then = Script(figures(11_000, searches=107))

    watched(Script(figures(10_000, searches=100)), then, 1, seen)

    assert "10.0 per s" in seen[0]
    assert "7.0 per s" in seen[1]
    assert then.closed


def test_unresponsive_daemon_shows_a_notice_and_the_last_data() -> None:
    seen: list[str] = []
    gone = DaemonUnreachableError("nobody listens at /run/s")
    then = Script(gone, gone, figures(500, pid=7, searches=3))

    watched(Script(figures(10_000, searches=100)), then, 3, seen)

    for screen in seen[1:3]:
        assert "daemon not responding; showing the last data" in screen
        assert "nobody listens at /run/s (daemon_unreachable)" in screen
        assert "pid 4242" in screen
    assert "daemon not responding" not in seen[3]
    assert "pid 7" in seen[3]


def test_only_the_first_request_may_start_the_daemon() -> None:
    first, then = Script(figures(10_000)), Script(figures(11_000))

    watched(first, then, 1, [])

    assert first.closed
    assert next(first._looks, None) is next(then._looks, None) is None


def test_quitting_restores_the_terminal() -> None:
    screen = watched(Script(figures(10_000)), Script(), 0, [])

    assert screen.getvalue().rstrip().endswith(LEAVE_SCREEN)


def test_ctrl_c_restores_the_terminal_and_sets_the_exit_code() -> None:
    class Interrupted(Script):
        def metrics(self) -> MetricsReply:
            raise KeyboardInterrupt

    screen = io.StringIO()
    stream = OutputStream(screen, terminal=True, colour=False, width=80)
    output = Output(stream, stream, lambda: 0.0)
    session = CliSession(
        lambda: cast(Client, Script(figures(1))), output, lambda: NOW_MS, lambda: cast(Client, Interrupted())
    )

    with pytest.raises(KeyboardInterrupt):
        watch(session, 1.0, TopView().paint, lambda _: False)

    assert screen.getvalue().rstrip().endswith(LEAVE_SCREEN)


def test_failed_first_request_is_an_error() -> None:
    unknown = AgentUnknownError("there is no agent 'x'")

    ran = memctl("status", "--watch", "--agent", "x", terminal=True, colour=False, status=unknown)

    assert ran.code == 1
    assert "there is no agent 'x'" in ran.err
    assert LEAVE_SCREEN not in ran.out


def test_watch_prints_once_to_a_pipe() -> None:
    assert memctl("status", "--watch", status=status_of()).out == memctl("status", status=status_of()).out


def test_watch_cannot_be_combined_with_json() -> None:
    ran = memctl("status", "--watch", "--json", status=status_of())

    assert ran.code == 2
    assert "--watch" in ran.err


@contextmanager
def keyboard(*pressed: bytes) -> Iterator[int]:
    """Yield a descriptor with these keys as input, or at its end without keys."""
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
def test_only_q_quits(keys: tuple[bytes, ...], leaves: bool) -> None:
    with keyboard(*keys) as descriptor:
        assert was_q_pressed(descriptor, 0.01) is leaves


def test_passive_client_never_starts_a_daemon(monkeypatch: pytest.MonkeyPatch, short_path: Path) -> None:
    def start(*_: object) -> None:
        raise AssertionError("a daemon was started")

    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "s"))
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)
    monkeypatch.setattr("memd_client.discovery.start_and_wait", start)

    with pytest.raises(DaemonUnreachableError):
        open_passive_client().status()
