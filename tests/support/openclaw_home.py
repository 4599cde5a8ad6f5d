"""OpenClaw itself in a throwaway home, with our plugin installed from a folder; skipped where npm can't get it.

OpenClaw and its Node come from npm into the cache of `tests.support.node`, once (`benchmarks.peers.install` does it).
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.peers.install import OpenClawPackage, PeerMissingError, install_openclaw
from tests.support.homes import StateHome
from tests.support.openclaw_model import MODEL
from tests.support.tree import ROOT

PLUGIN: Final = ROOT / "client" / "openclaw-plugin"
NODE_CLIENT: Final = ROOT / "client" / "node"

RUN_S: Final = 180.0
"""A command on a busy machine; an agent's turn takes ten seconds or so, most of them OpenClaw's start."""

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
"""Has OpenClaw's own function record who wrote files, as its file tools do."""


@functools.cache
def openclaw() -> OpenClawPackage:
    """Return OpenClaw and its Node; skip where npm can't get them."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which would get OpenClaw")
    given = os.environ.get("MEMD_TEST_CACHE")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memd-tests" / "npm"
    cache = Path(given) if given else usual
    cache.mkdir(parents=True, exist_ok=True)
    try:
        return install_openclaw(cache)
    except PeerMissingError as missing:
        pytest.skip(f"OpenClaw can't be had: {missing}")


def plugin_folder(where: Path) -> Path:
    """Return a copy of the plugin as it is after `npm install` in the checkout; skip where npm can't."""
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


class OpenClawHome:
    """OpenClaw on the state directory of a `StateHome`: what a user types, and what comes of it."""

    def __init__(self, home: StateHome) -> None:
        self.home = home
        self._package = openclaw()

    def run(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command, and return what came of it."""
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
        """Run a script by OpenClaw's Node in its surroundings, and return what it printed."""
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
        """Run a command that answers in JSON."""
        return json.loads(self.run(*arguments, "--json").stdout)

    def install(self, folder: Path) -> None:
        """Install our plugin."""
        self.run("plugins", "install", str(folder), "--force", "--accept-capabilities")

    def turn(self, message: str, session: str = "agent:main:main", *, local: bool = True) -> str:
        """Run one turn of an agent, and return what it said."""
        where = ["--local"] if local else []
        reply = self.json("agent", *where, "--session-key", session, "--message", message)
        payloads = (reply if local else reply["result"])["payloads"]
        return "\n".join(payload["text"] for payload in payloads)

    def record_origins(self, agent: str, origins: Mapping[str, str]) -> None:
        """Have OpenClaw record who wrote files of an agent's workspace."""
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
        """Return a command line of `openclaw`."""
        node, package = self._package
        return [node, package / "openclaw.mjs", *arguments]

    def environ(self) -> dict[str, str]:
        """Return variables of its own, none of the tester's accounts among them."""
        return {
            **self.home.environ(),
            "PATH": f"{self._package.node.parent}:{os.environ['PATH']}",
            "HOME": str(self.home.root),
            "TMPDIR": str(self.home.root),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }


def settings(model_url: str) -> dict[str, Any]:
    """Return settings with one model on loopback, and an agent that is searched by words."""
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
