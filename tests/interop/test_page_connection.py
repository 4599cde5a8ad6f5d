"""An open page whose daemon stops, restarts, or can't be reached for a while."""

from __future__ import annotations

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, memory_home, open_page
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

Running = tuple[StateHome, DaemonProcess]

CLIPBOARD: dict[str, object] = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}


def wait_lost(page: Page) -> str:
    """Wait until the page says that its daemon is gone, and return what it says."""
    page.wait("document.getElementById('lost')")
    return page.text("#lost")


@pytest.mark.parametrize(("agent", "command"), [(None, "memctl web"), ("main", "memctl web --agent main")])
def test_a_restarted_daemon_leaves_the_page_readable_with_a_command_to_copy(
    browser: Browser, agent: str | None, command: str
) -> None:
    with memory_home() as (_, daemon), open_page(browser, daemon, agent=agent) as page:
        page.wait_text("Garden")
        go_to(page, "facts")
        page.click("#remember")
        page.type("Standup is at 9:40")
        daemon.stop()
        daemon.start()

        said = wait_lost(page)
        assert "Daemon not responding. Showing the last data." in said
        assert command in said.splitlines()
        assert page.run("document.getElementById('remember').value") == "Standup is at 9:40"
        page.press("Enter")
        page.wait_text("The daemon can't be reached. Run `memctl web`")
        assert page.run("document.getElementById('remember').value") == "Standup is at 9:40"
        page.press("Escape", "1")
        page.wait_text("Tomatoes need twice the water")  # what was there stays readable

        context = page.send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        page.send("Browser.grantPermissions", {**CLIPBOARD, "browserContextId": context})
        page.click("#lost button", "Copy")
        page.wait_text("Copied.")
        assert page.run("navigator.clipboard.readText()") == command
        with open_page(browser, daemon, agent=agent) as renewed:  # what the command does
            renewed.wait_text("Garden")


def test_a_page_whose_session_ended_says_what_to_do(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        page.wait_text("Garden")
        page.send("Network.clearBrowserCookies")  # as if another opening of the page had the port
        sync(page)

        page.wait_text("This page's session has ended.")
        assert page.text("#lost code") == "memctl web"
        page.press("1")
        page.wait_text("Garden")


def test_a_page_goes_on_when_the_daemon_can_be_reached_again(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon) as page:
        page.click(".note .open", "Garden")
        page.wait("document.querySelector('.reader .said')")
        page.send("Network.emulateNetworkConditions", offline(True))
        sync(page)
        assert "Daemon not responding" in wait_lost(page)
        home.note("memory/2026-02-11.md", "# Garden\n\nTomatoes need no water at all.\n")
        assert "twice the water" in page.text(".reader")
        page.send("Network.emulateNetworkConditions", offline(False))

        page.wait("!document.getElementById('lost')")
        page.wait("document.querySelector('.reader').innerText.includes('no water at all')")
        page.wait("document.querySelector('.freshness b').textContent !== 'Not reachable'")


def sync(page: Page) -> None:
    """Ask the page for something that needs the daemon."""
    go_to(page, "health")
    page.click("button", "Sync now")


def offline(is_offline: bool) -> dict[str, object]:
    """Return the network's conditions: none at all, or as they are."""
    return {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
