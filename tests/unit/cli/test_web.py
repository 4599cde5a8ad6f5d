"""`memctl web`: prints the address, and opens it if there is a screen."""

from __future__ import annotations

import webbrowser
from typing import Any

import pytest

from memd.cli import web
from memd_client.errors import AgentUnknownError, DaemonUnreachableError
from memd_client.messages import OpenPageReply
from tests.unit.cli import memctl_runner
from tests.unit.cli.memctl_runner import MemctlResult, memctl

PLACE = OpenPageReply("http://127.0.0.1:40513/?token=abc", None, 60)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses opened in a browser, with a screen present."""
    addresses: list[str] = []

    def open_page(url: str) -> bool:
        addresses.append(url)
        return True

    def answer(self: Any, agent: str | None = None) -> OpenPageReply:
        return self._answer(OpenPageReply, "open_page", agent=agent)  # type: ignore[no-any-return]

    monkeypatch.setattr(memctl_runner.FakeClient, "open_page", answer, raising=False)
    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr("memd.cli.web.sys.platform", "linux")
    for name in web.SCREENS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    return addresses


def showing(*arguments: str, **replies: Any) -> MemctlResult:
    """Run the command."""
    return memctl("web", *arguments, **{"open_page": PLACE, **replies})


def test_address_is_printed_and_opened(opened: list[str]) -> None:
    ran = showing("--agent", "main")

    assert (ran.code, ran.out, opened) == (0, f"{PLACE.url}\n", [PLACE.url])
    assert ran.client.calls == [("open_page", {"agent": "main"})]
    assert "within 60 s" in ran.err


@pytest.mark.parametrize("screen", [True, False])
def test_no_browser_is_opened_with_no_browser_or_without_a_screen(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, screen: bool
) -> None:
    if not screen:
        monkeypatch.delenv("DISPLAY")

    ran = showing(*(["--no-browser"] if screen else []))

    assert (ran.code, ran.out, opened) == (0, f"{PLACE.url}\n", [])
    assert "open this address in a browser on this machine" in ran.err


def test_failing_browser_still_prints_the_address(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str) -> bool:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "open", fail)

    assert showing().out == f"{PLACE.url}\n"


def test_daemon_errors_are_printed(opened: list[str]) -> None:
    unknown = showing("--agent", "nobody", open_page=AgentUnknownError("there is no agent 'nobody'"))
    down = showing(refused=DaemonUnreachableError("nobody listens at /run/s"))

    assert (unknown.code, down.code, opened) == (1, 1, [])
    assert "there is no agent" in unknown.err
    assert "nobody listens" in down.err
