"""OpenClaw in a temporary home, with memd's plugin installed from a folder; skipped if npm can't get it.

npm installs OpenClaw and its Node into the cache of `tests.support.node`, once (by `benchmarks.peers.install`).
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pytest

from benchmarks.peers.install import OpenClawPackage, PeerMissingError, install_openclaw
from tests.support.node import locked, npm_cache
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply
from tests.support.provider_wire import serve_http
from tests.support.state_homes import StateHome
from tests.support.tree import ROOT

MODEL: Final = "scripted"


@dataclass(frozen=True, slots=True)
class TextReply:
    """The model replies with text and ends its turn."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model calls a tool, and gets another request with the result."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The request of a turn to the model."""

    system: str
    prompt: str
    tools: tuple[str, ...]
    results: tuple[str, ...] = ()


Script = Callable[[ModelRequest], TextReply | ToolCall]


class ModelServer:
    """A server of a scripted model. `asked` has every request, oldest first."""

    def __init__(self, script: Script) -> None:
        self.closing = threading.Event()
        self.asked: list[ModelRequest] = []
        self.url = ""
        self._script = script

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, None]:
        """Return the scripted reply to a request, as a stream of events."""
        if not asked.path.endswith("/chat/completions"):
            return ProviderReply(404, b"{}", {"Content-Type": "application/json"}), None
        conversation = read_chat(json.loads(asked.body))
        self.asked.append(conversation)
        body = chat_events(self._script(conversation), len(self.asked))
        return ProviderReply(200, body, {"Content-Type": "text/event-stream"}), None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Collects the messages of a request."""

    system: list[str] = field(default_factory=list)
    prompt: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def take(self, message: dict[str, Any]) -> None:
        """Add one message."""
        text = _text(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                self.system.append(text)
            case "user":
                self.prompt.append(text)
            case "tool":
                self.results.append(text)


@contextmanager
def serve_model(script: Script) -> Iterator[ModelServer]:
    """Run a server of a scripted model inside the block."""
    server = ModelServer(script)
    with serve_http(server) as url:
        server.url = url
        yield server


def read_chat(body: dict[str, Any]) -> ModelRequest:
    """Return what a request for a chat completion says."""
    reader = _Reader()
    for message in body["messages"]:
        reader.take(message)
    tools = tuple(tool["function"]["name"] for tool in body.get("tools") or [])
    return ModelRequest("\n".join(reader.system), "\n".join(reader.prompt), tools, tuple(reader.results))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def chat_events(act: TextReply | ToolCall, number: int) -> bytes:
    """Return a whole reply as server-sent events."""
    delta, reason = chat_message(act, number)
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    chunks = [
        _chunk(number, [{"index": 0, "delta": delta, "finish_reason": None}]),
        _chunk(number, [{"index": 0, "delta": {}, "finish_reason": reason}]),
        _chunk(number, [], usage=usage),
    ]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def chat_message(act: TextReply | ToolCall, number: int) -> tuple[dict[str, Any], str]:
    """Return a reply as a message, and why it ends."""
    if isinstance(act, TextReply):
        return {"role": "assistant", "content": act.text}, "stop"
    function = {"name": act.tool, "arguments": json.dumps(act.arguments)}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


def _chunk(number: int, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {
        "id": f"chat_{number}",
        "object": "chat.completion.chunk",
        "created": 1_795_000_000,
        "model": MODEL,
    }
    return {**head, "choices": choices, **more}


PLUGIN: Final = ROOT / "client" / "openclaw-plugin"
NODE_CLIENT: Final = ROOT / "client" / "node"

RUN_S: Final = 180.0
"""Timeout of a command on a busy machine."""

INSTALL_S: Final = 300.0


RECORD: Final = """
import { readdir } from "node:fs/promises";
const dist = process.argv[2];
const name = (await readdir(dist)).find((file) => /^memory-artifact-provenance-.*\\.mjs$/.test(file));
const module = await import(`${dist}/${name}`);
const record = Object.values(module).find((member) => member.name === "recordMemoryArtifactWriteProvenance");
for (const [workspaceDir, relativePath, originClass] of JSON.parse(process.argv[3])) {
  const text = { contentBefore: "", contentAfter: "written by a tool", observedAt: Date.now() };
  await record({ workspaceDir, relativePath, originClass, ...text });
}
process.exit(0);
"""
"""Calls OpenClaw's own function that records the author of files, as its file tools do."""


@functools.cache
def openclaw() -> OpenClawPackage:
    """Return OpenClaw and its Node; skip the test if npm can't get them."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which would get OpenClaw")
    cache = npm_cache()
    try:
        with locked(cache / "openclaw"):
            return install_openclaw(cache)
    except PeerMissingError as missing:
        pytest.skip(f"OpenClaw can't be had: {missing}")


def plugin_folder(where: Path) -> Path:
    """Return a copy of the plugin after `npm install`; skip the test if npm fails."""
    for source in (NODE_CLIENT, PLUGIN):
        shutil.copytree(source, where / source.name, ignore=shutil.ignore_patterns("node_modules"))
    folder = where / PLUGIN.name
    command = ["npm", "install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm can't install the plugin's dependency: {error}")
    if done.returncode != 0:
        pytest.skip(f"npm can't install the plugin's dependency: {done.stderr.strip()[-300:]}")
    return folder


class OpenClawInstallation:
    """OpenClaw on the state directory of a `StateHome`, or of a profile of its own, used through its commands."""

    def __init__(self, home: StateHome, profile: str = "") -> None:
        self.home = home
        self._profile = ["--profile", profile] if profile else []
        self._package = openclaw()

    def run(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command and return the finished process."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.home.root,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert not ok or done.returncode == 0, f"{arguments}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def node(self, *arguments: str | Path) -> str:
        """Run a script with OpenClaw's Node and environment, and return its output."""
        command = [self._package.node, *arguments]
        done = subprocess.run(
            command,
            cwd=self.home.root,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    @property
    def package(self) -> Path:
        """The folder of OpenClaw's package."""
        return self._package.package

    def json(self, *arguments: str) -> Any:
        """Run a command and return its JSON output."""
        return json.loads(self.run(*arguments, "--json").stdout)

    def install(self, folder: Path) -> None:
        """Install memd's plugin."""
        self.run("plugins", "install", str(folder), "--force", "--accept-capabilities")

    def turn(self, message: str, session: str = "agent:main:main", *, local: bool = True) -> str:
        """Run one turn of an agent and return its reply."""
        where = ["--local"] if local else []
        reply = self.json("agent", *where, "--session-key", session, "--message", message)
        payloads = (reply if local else reply["result"])["payloads"]
        return "\n".join(payload["text"] for payload in payloads)

    def record_origins(self, agent: str, origins: Mapping[str, str]) -> None:
        """Let OpenClaw record the authors of files in an agent's workspace."""
        workspace = str(self.home.workspace(agent))
        rows = [(workspace, path, origin) for path, origin in origins.items()]
        script = self.home.root / "record.mjs"
        script.write_text(RECORD)
        self.node(script, self.package / "dist", json.dumps(rows))

    def change(self, change: Mapping[str, Any]) -> None:
        """Merge a change into the settings."""
        path = self.home.state / "openclaw.json"
        path.write_text(json.dumps(_merged(json.loads(path.read_text()), change)))

    def command(self, *arguments: str) -> list[str | Path]:
        """Return an `openclaw` command line."""
        node, package = self._package
        return [node, package / "openclaw.mjs", *self._profile, *arguments]

    def environ(self) -> dict[str, str]:
        """Return environment variables without the tester's accounts."""
        return {
            **self.home.environ(),
            "PATH": f"{self._package.node.parent}:{os.environ['PATH']}",
            "HOME": str(self.home.root),
            "TMPDIR": str(self.home.root),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }


def settings(model_url: str) -> dict[str, Any]:
    """Return settings with one model on loopback and an agent with keyword search."""
    model = {
        "id": MODEL,
        "name": "Scripted",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 120_000,
        "maxTokens": 8_192,
    }
    provider = {
        "baseUrl": f"{model_url}/v1",
        "apiKey": "loopback",
        "api": "openai-completions",
        "models": [model],
    }
    return {
        "gateway": {"mode": "local"},
        "models": {"mode": "merge", "providers": {"loopback": provider}},
        "agents": {"defaults": {"model": {"primary": f"loopback/{MODEL}"}, "skipBootstrap": True}},
        "memory": {"search": {"provider": "none"}},
    }


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, Mapping):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


START_S = 120.0
"""Timeout of the gateway's start on a busy machine."""

STOP_S = 120.0

CHAT_COMPLETIONS = {"gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}}}
"""Settings that let a gateway run turns over HTTP, faster than starting a program for each."""


class OpenClawGateway:
    """A running gateway, stopped at the end of the block."""

    def __init__(self, claw: OpenClawInstallation) -> None:
        self._claw = claw
        self._log = claw.home.state / "gateway.log"
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
        """Call a method of the gateway and return its result."""
        return self._claw.json("gateway", "call", method, "--params", json.dumps(params))

    def turn(self, message: str, agent: str = "main", *, timeout_s: float = RUN_S) -> None:
        """Run one turn of an agent in a new session; needs the settings of `CHAT_COMPLETIONS`."""
        body = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": message}]}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as reply:
            assert json.load(reply)["choices"][0]["finish_reason"] == "stop"

    def log(self) -> str:
        """Return its log."""
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
