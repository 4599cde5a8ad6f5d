"""OpenClaw's gateway as a process of its own, on a free port of loopback; nothing else in the tests starts one."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import time
import urllib.request
from types import TracebackType
from typing import Any

from tests.support.openclaw_home import RUN_S, OpenClawHome

START_S = 120.0
"""It takes a quarter of a minute, and several times that on a busy machine."""

STOP_S = 30.0

CHAT_COMPLETIONS = {"gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}}}
"""Settings that let a gateway run turns over HTTP: a third of a second each, without a program's start."""


class OpenClawGateway:
    """A running gateway; ended with its block."""

    def __init__(self, claw: OpenClawHome) -> None:
        self._claw = claw
        self._log = claw.home.root / "gateway.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self._token = secrets.token_hex(16)
        auth = {"mode": "token", "token": self._token}
        claw.change({"gateway": {"mode": "local", "port": self._port, "auth": auth}})

    def __enter__(self) -> OpenClawGateway:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._claw.command("gateway", "run"),
                cwd=self._claw.home.root,
                env=self._claw.environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if error is not None:
            print(self.log()[-4000:])

    def call(self, method: str, **params: Any) -> Any:
        """Call one of its methods, and return what it answers."""
        return self._claw.json("gateway", "call", method, "--params", json.dumps(params))

    def turn(self, message: str, agent: str = "main") -> None:
        """Run one turn of an agent in a new session; needs the settings of `CHAT_COMPLETIONS`."""
        body = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": message}]}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=RUN_S) as reply:
            assert json.load(reply)["choices"][0]["finish_reason"] == "stop"

    def log(self) -> str:
        """Return what it logged."""
        return self._log.read_text(errors="replace")

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, f"the gateway ended:\n{self.log()[-4000:]}"
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the gateway isn't ready:\n{self.log()[-4000:]}")

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
