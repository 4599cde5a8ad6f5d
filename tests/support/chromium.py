"""A headless Chromium controlled over DevTools pipes: real keys, real clicks, and a record of all requests.

The protocol uses two inherited file descriptors, so the browser listens on no port:
https://chromedevtools.github.io/devtools-protocol/"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import pytest

from tests.support.node import installed, run_node

OWN: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell")
"""Names of a browser installed on the machine."""

PACKAGE: Final = "@sparticuz/chromium@153.0.0"
"""A headless Chromium for Linux on x64, compressed with brotli, with the libraries that a minimal machine lacks."""

UNPACK: Final = """
import { brotliDecompressSync } from "node:zlib";
import { readFileSync, writeFileSync } from "node:fs";
for (const name of process.argv.slice(2)) {
    writeFileSync(name.replace(/\\.br$/, ""), brotliDecompressSync(readFileSync(name)));
}
"""


class Chromium(NamedTuple):
    """A browser program, and the folder of additional libraries it needs, if any."""

    path: Path
    libraries: Path | None = None

    def environ(self) -> dict[str, str]:
        """Return the environment variables of the browser."""
        if self.libraries is None:
            return dict(os.environ)
        known = os.environ.get("LD_LIBRARY_PATH")
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.libraries) + (f":{known}" if known else ""),
        }


@functools.cache
def chromium() -> Chromium:
    """Return a Chromium that runs here, or skip the test. `MEMD_TEST_CHROMIUM` overrides the choice."""
    given = os.environ.get("MEMD_TEST_CHROMIUM")
    if given:
        return Chromium(Path(given))
    for name in OWN:
        found = shutil.which(name)
        if found is not None:
            return Chromium(Path(found))
    shipped = _unpacked(installed(PACKAGE) / "node_modules" / "@sparticuz" / "chromium" / "bin")
    if not _runs(shipped):
        pytest.skip("there is no Chromium on this machine, and the one in npm's package doesn't run here")
    return shipped


def _unpacked(packed: Path) -> Chromium:
    """Unpack the browser next to the package's files, once for all runs."""
    program, libraries = packed / "chromium", packed / "al2023"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=packed) as work:
            names = ("chromium.br", "al2023.tar.br")
            for name in names:
                shutil.copy(packed / name, work)
            script = Path(work) / "unpack.mjs"
            script.write_text(UNPACK)
            done = run_node([script, *(str(Path(work) / name) for name in names)], cwd=Path(work))
            if done.returncode != 0:
                pytest.skip(f"the Chromium of npm's package can't be unpacked: {done.stderr[-200:]}")
            with tarfile.open(Path(work) / "al2023.tar") as libraries_tar:
                libraries_tar.extractall(libraries, filter="data")
            unpacked = Path(work) / "chromium"
            unpacked.chmod(0o755)
            unpacked.replace(program)  # last, so that the program is complete
    return Chromium(program, libraries / "lib")


def _runs(program: Chromium) -> bool:
    try:
        done = subprocess.run(
            [program.path, "--no-sandbox", "--headless", "--version"],
            env=program.environ(),
            capture_output=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


ANSWER_S: Final = 120.0
"""Timeout of a command or a state of a page; usually far less."""

SWITCHES: Final = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # tests may run as root; they open only their own pages
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-GB",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
)

WITH_PIPES: Final = """
import os, sys
read, write = (os.dup(int(number)) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.set_inheritable(3, True)
os.set_inheritable(4, True)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Replaces itself with the browser, which expects the two pipes as descriptors 3 and 4."""


class BrowserError(AssertionError):
    """The browser refused a command, or a script of the page failed."""


class Browser:
    """A browser with a temporary profile."""

    def __init__(self) -> None:
        program = chromium()
        self._folder = Path(tempfile.mkdtemp(prefix="memd-chromium-"))
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-c", WITH_PIPES, str(to_read), str(to_write)),
                *(str(program.path), *SWITCHES),
                *(f"--user-data-dir={self._folder / 'profile'}", "about:blank"),
            ],
            env={**program.environ(), "HOME": str(self._folder)},
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._last_id = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """Send a command and return its result."""
        self._last_id += 1
        number = self._last_id
        message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_S
        while number not in self._answers:
            self.listen(deadline - time.monotonic())
            if time.monotonic() > deadline:
                raise BrowserError(f"{method}: no answer within {ANSWER_S} s")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        result: dict[str, Any] = answer["result"]
        return result

    def listen(self, timeout_s: float) -> None:
        """Process messages of the browser, at least one or until the timeout."""
        if not select.select([self._read], [], [], max(0.0, timeout_s))[0]:
            return
        came = os.read(self._read, 1 << 20)
        if not came:
            raise BrowserError(f"the browser ended with {self._process.poll()}")
        *messages, self._buffer = (self._buffer + came).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                listener = self._listeners.get(message.get("sessionId", ""))
                if listener is not None:
                    listener(message["method"], message.get("params", {}))

    @contextlib.contextmanager
    def page(
        self, *, dark: bool = False, width: int = 1280, height: int = 860, phone: bool = False
    ) -> Iterator[Page]:
        """Open a tab without shared cookies or storage."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})[
            "targetId"
        ]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session)
        self._listeners[session] = page.hear
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.send(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone},
        )
        page.prefer(dark)
        page.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        try:
            yield page
        finally:
            del self._listeners[session]
            self.send("Target.disposeBrowserContext", {"browserContextId": context})


class Page:
    """One tab, with user actions and a record of what happened.

    `requests` are requested addresses, `answers` the responses, `complaints` the errors on its console, `dialogs` its
    dialogs.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.answers: list[tuple[str, int]] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []

    def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command of this tab."""
        return self._browser.send(method, params, self._session)

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """Record an event of the tab."""
        if method in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            self.requests.append(params["request"]["url"] if "request" in params else params["url"])
        elif method == "Network.responseReceived":
            self.answers.append((params["response"]["url"], params["response"]["status"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            if not entry.get("url", "").endswith("/favicon.ico"):  # requested by the browser, not by the page
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])

    def prefer(self, dark: bool) -> None:
        """Set the system preference to dark or light, without motion."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.send("Emulation.setEmulatedMedia", {"features": features})

    def go(self, url: str) -> None:
        """Open an address."""
        self.send("Page.navigate", {"url": url})

    def run(self, script: str) -> Any:
        """Return the value of an expression; promises are awaited."""
        said = self.send(
            "Runtime.evaluate",
            {"expression": script, "returnByValue": True, "awaitPromise": True},
        )
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return said["result"].get("value")

    def wait(self, condition: str, timeout_s: float = ANSWER_S) -> Any:
        """Wait until an expression is true or finds an element, and return it."""
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(BrowserError):  # the element may not exist yet
                value = self.run(condition)
                if value or value == {}:  # an element is returned as an empty map
                    return value
            if time.monotonic() > deadline:
                shown = self.run("document.body.innerText")
                raise BrowserError(
                    f"{condition} did not come true; the page says:\n{shown}\n{self.complaints}"
                )
            self._browser.listen(0.05)

    def wait_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})")

    def text(self, selector: str = "body") -> str:
        """Return the text that an element shows."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str, containing: str = "") -> None:
        """Click the center of the first element of a selector (and a text), once it has stopped moving."""
        place = self.wait(
            f"""(async () => {{
                const found = [...document.querySelectorAll({json.dumps(selector)})]
                    .find((one) => one.textContent.includes({json.dumps(containing)}));
                found.scrollIntoView({{block: "center"}});
                const box = found.getBoundingClientRect();
                await new Promise((done) => setTimeout(done, 60));
                const later = found.getBoundingClientRect();
                const still = found.isConnected && box.x === later.x && box.y === later.y;
                return still && [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                {"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1},
            )

    def type(self, text: str) -> None:
        """Type text into the focused element."""
        self.send("Input.insertText", {"text": text})

    def press(self, *keys: str, ctrl: bool = False) -> None:
        """Press keys one after the other: `j`, `Enter`, `Escape`, `?`."""
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            named = {"key": key, "modifiers": 2 if ctrl else 0, "windowsVirtualKeyCode": _CODES.get(key, 0)}
            down = {"type": "keyDown" if text and not ctrl else "rawKeyDown", **named}
            self.send("Input.dispatchKeyEvent", {**down, "text": text} if text and not ctrl else down)
            self.send("Input.dispatchKeyEvent", {"type": "keyUp", **named})

    def select_all(self) -> None:
        """Select everything in the focused field."""
        self.run("document.activeElement.select()")

    def screenshot(self, where: Path) -> None:
        """Write the tab's picture as a PNG."""
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", {"format": "png"})["data"]))


_CODES: Final = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "Backspace": 8}
