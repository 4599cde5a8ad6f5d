"""Agents' programs with databases, from npm and PyPI, in a temporary home, with a model on loopback."""

from __future__ import annotations

import functools
import json
import platform
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

import pytest

from memd.programs.catalog import PROGRAMS, Places
from memd.programs.conversation import Conversation
from memd.programs.program import FileReader
from memd.programs.readers import find_places, reader_of
from tests.support.model_servers.server import DialectServer, serve_dialects
from tests.support.node import cache_folder, installed, locked
from tests.support.openclaw import Script, ToolCall
from tests.support.real_program import FILE_TEXT, KEY, RealProgram
from tests.support.real_programs import reading_script

_MACHINE: Final = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
INSTALL_S: Final = 600.0


class DatabaseProgram(RealProgram):
    """A program with a database, which is run without a terminal."""

    ready = leave = ""

    def __init__(
        self, home: Path, model_url: str
    ) -> None:  # the other programs have files, and no environment of PyPI
        self.home = home
        self.folder = home / "shop"
        self.folder.mkdir(parents=True)
        (self.folder / "ports.txt").write_text(FILE_TEXT)
        self.url = model_url
        self.modules = self.install()
        self.set_up()

    def install(self) -> Path:
        """Return the folder with the program's package."""
        return installed(self.package) / "node_modules"

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        """Return the arguments that run one prompt in an earlier session."""
        return [*self.headless(prompt), "--session", session_id]

    def conversations(self) -> list[Conversation]:
        """Return all conversations in the program's databases, as memd's reader reads them."""
        row = PROGRAMS[self.name].conversations
        assert row is not None
        reader = reader_of(row)
        assert not isinstance(reader, FileReader)
        places = find_places(row, Places(self.home, self.variables(), sys.platform))
        databases = [reader(path) for path in places if path.exists()]
        read = [database.read(session.id) for database in databases for session in database.sessions()]
        return [conversation for conversation in read if conversation is not None]


class OpencodeOfNpm(DatabaseProgram):
    """opencode; its model is a provider in its settings."""

    name = "opencode"
    package = f"opencode-{sys.platform}-{_MACHINE}@1.18.33"
    program: ClassVar[str] = "opencode"

    def set_up(self) -> None:
        model = {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 4_000}}
        options = {"baseURL": f"{self.url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": model}}
        settings = {
            "provider": {"loopback": {"name": "loopback", **provider}},
            "model": "loopback/scripted",
            "small_model": "loopback/scripted",
            "autoupdate": False,
            "share": "disabled",
        }
        folder = self.home / ".config" / self.program
        folder.mkdir(parents=True)
        (folder / f"{self.program}.json").write_text(json.dumps(settings))

    def command(self) -> list[str | Path]:
        package = self.package.rpartition("@")[0]
        return [self.modules / package / "bin" / self.program]

    def headless(self, prompt: str) -> list[str]:
        return ["run", prompt]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        path = str(self.folder / "ports.txt")
        return ToolCall("read", {"filePath": path}) if "read" in tools else None

    def variables(self) -> Mapping[str, str]:
        name = self.program.upper()
        return {
            f"{name}_DISABLE_MODELS_FETCH": "1",
            f"{name}_DISABLE_AUTOUPDATE": "1",
            "PWD": str(self.folder),
        }


class KiloOfNpm(OpencodeOfNpm):
    """Kilo: the same settings in another folder."""

    name = "kilo"
    package = f"@kilocode/cli-{sys.platform}-{_MACHINE}@7.7.9"
    program = "kilo"


class HermesOfPypi(DatabaseProgram):
    """Hermes; its model is set in its settings."""

    name = "hermes"
    package = "hermes-agent==0.19.0"

    def install(self) -> Path:
        """Return the folder of an environment with the package."""
        return installed_in_environment(self.package)

    def set_up(self) -> None:
        (self.home / ".hermes").mkdir()
        model = {"default": "scripted", "provider": "custom", "base_url": f"{self.url}/v1", "api_key": KEY}
        (self.home / ".hermes" / "config.yaml").write_text(json.dumps({"model": model}))

    def command(self) -> list[str | Path]:
        return [self.modules / "bin" / "hermes"]

    def headless(self, prompt: str) -> list[str]:
        return ["chat", "-q", prompt]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        return [*self.headless(prompt), "--resume", session_id]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        path = str(self.folder / "ports.txt")
        return ToolCall("read_file", {"path": path}) if "read_file" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{self.url}/v1"}


REAL_DATABASE_PROGRAMS: Final[dict[str, type[DatabaseProgram]]] = {
    program.name: program for program in (OpencodeOfNpm, KiloOfNpm, HermesOfPypi)
}


@functools.cache
def installed_in_environment(package: str) -> Path:
    """Return a cached environment with a package of PyPI; skip the test if pip can't get it."""
    root = cache_folder("pypi") / package.replace("==", "-")
    with locked(root):
        if not (root / "installed").exists():
            venv.create(root, with_pip=True, clear=True)
            command: list[str | Path] = [root / "bin" / "python", "-m", "pip", "install", "--quiet", package]
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
            if done.returncode != 0:
                pytest.skip(f"pip can't get {package}: {done.stderr[-500:]}")
            (root / "installed").touch()
    return root


@contextmanager
def real_database_program(
    name: str, home: Path, script: Script | None = None
) -> Iterator[tuple[DatabaseProgram, DialectServer]]:
    """Install a program into a home, with a model that follows a script; by default it reads a file and answers."""
    scripts: list[Script] = []
    with serve_dialects(lambda request: scripts[0](request)) as server:
        program = REAL_DATABASE_PROGRAMS[name](home, server.url)
        scripts.append(script or reading_script(program))
        yield program, server
