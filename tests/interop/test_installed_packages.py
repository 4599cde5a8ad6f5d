"""The built packages, checked and installed outside the repository."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.mcp_session import mcp_session, text_of
from tests.support.page import Visitor
from tests.support.sockets import short_directory, wait_until
from tests.support.tree import ROOT

BUILD_S: Final = 120.0
INSTALL_S: Final = 600.0
RUN_S: Final = 120.0

OFFLINE: Final = re.compile(
    r"NewConnectionError|ConnectTimeout|NameResolution|Failed to fetch|dns error|timed out"
)
FOREIGN: Final = ("PYTHON", "VIRTUAL_ENV", "XDG_", "OPENCLAW_", "MEMD_", "PIPX_", "UV_TOOL")
"""Prefixes of variables that would redirect an installation."""


def build_packages(where: Path, kind: str | None = None, source: Path = ROOT) -> Path:
    """Build the client and the daemon into a folder, and return it."""
    for name in ("client", "daemon"):
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(where)]
        ran = subprocess.run(
            [*command, *(["-t", kind] if kind else [])],
            cwd=source / name,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    return where


def wheels(folder: Path) -> list[Path]:
    """Return the client's wheel and the daemon's."""
    return [next(folder.glob(f"memd_{name}-*.whl")) for name in ("client", "daemon")]


def environment(where: Path) -> Path:
    """Make an empty virtual environment and return its programs' folder."""
    venv.create(where, with_pip=True)
    return where / "bin"


def install(
    command: Sequence[str | Path], environ: Mapping[str, str] | None = None, cwd: Path = Path("/")
) -> None:
    """Run an installer; skip the test if the package index can't be reached."""
    ran = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean_environ() if environ is None else dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    said = ran.stdout + ran.stderr
    if ran.returncode and OFFLINE.search(said):
        pytest.skip(f"the package index can't be reached: {said[-300:]}")
    assert ran.returncode == 0, said[-3000:]


def clean_environ() -> dict[str, str]:
    """Return this process's variables without those that redirect an installation."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


class InstalledPrograms:
    """An installation with its own home directory."""

    def __init__(self, programs: Path, home: Path, run_dir: Path, tools: Sequence[Path] = ()) -> None:
        self.programs = programs
        self.home = home
        path = os.pathsep.join(map(str, (programs, *tools, "/usr/bin", "/bin")))
        self.environ = {
            **clean_environ(),
            "HOME": str(home),
            "PATH": path,
            "MEMD_SOCKET": str(run_dir / "s"),
            "OPENCLAW_STATE_DIR": str(home / "state"),
        }

    def run(self, *command: str | Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a program of the installation and check its exit code, unless `code` is None."""
        ran = subprocess.run(
            list(map(str, command)),
            cwd=self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert code is None or ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
        return ran

    def memctl(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run memctl."""
        return self.run(self.programs / "memctl", *arguments, code=code)

    def json(self, *arguments: str) -> Any:
        """Run memctl and return its JSON output."""
        return json.loads(self.memctl(*arguments, "--json").stdout)

    def paste(self, message: str) -> str:
        """Run the command in backticks of a message, as a shell does; return it."""
        [command] = re.findall("`([^`]+)`", message)
        install(["/bin/sh", "-c", command], self.environ)
        return str(command)

    def stop(self) -> None:
        """Stop its daemon, if one is running."""
        self.environ["MEMD_AUTOSTART"] = "0"
        ran = self.memctl("status", "--json", code=None)
        if ran.returncode == 0:
            os.kill(json.loads(ran.stdout)["pid"], signal.SIGTERM)
            wait_until(lambda: not Path(self.environ["MEMD_SOCKET"]).exists())


@contextmanager
def installation(programs: Path, home: Path, tools: Sequence[Path] = ()) -> Iterator[InstalledPrograms]:
    """Yield an installation; its daemon is stopped afterwards."""
    home.mkdir(exist_ok=True)
    with short_directory() as run_dir:
        made = InstalledPrograms(programs, home, run_dir, tools)
        try:
            yield made
        finally:
            if (programs / "memctl").exists():
                made.stop()


pytestmark = pytest.mark.long

INSTALL_PAGE = (ROOT / "docs" / "install.md").read_text()

COPY_SAMPLE = "import sys, pathlib, memd.sample; memd.sample.copy_sample(pathlib.Path(sys.argv[1]))"
QUERY = "POL-358"
NOTE = "memory/2026-03-09.md"


def commands_of(section: str) -> str:
    """Return the commands of a section of docs/install.md."""
    [text] = re.findall(rf"^## {section}\n(.*?)(?=^## )", INSTALL_PAGE, re.MULTILINE | re.DOTALL)
    [commands] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return str(commands)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages, each as sdist and wheel, in a folder whose path needs quoting."""
    return build_packages(tmp_path_factory.mktemp("built") / "my clone" / "dist")


@pytest.fixture(scope="module")
def memd(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledPrograms]:
    """The wheels installed into an empty environment as docs/install.md says, with the sample as memory."""
    home = tmp_path_factory.mktemp("installed") / "home"
    programs = home / "memd" / "bin"
    with installation(programs, home) as made:
        path = os.pathsep.join((str(Path(sys.executable).parent), made.environ["PATH"]))
        install(["/bin/sh", "-ec", commands_of("With pip")], made.environ | {"PATH": path}, dist.parent)
        made.run(programs / "python", "-c", COPY_SAMPLE, made.environ["OPENCLAW_STATE_DIR"])
        yield made


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs uv and pipx."""
    programs = environment(tmp_path_factory.mktemp("tools") / "venv")
    install([programs / "python", "-m", "pip", "install", "uv>=0.5", "pipx>=1.7"])
    return programs


def test_twine_accepts_every_file(dist: Path) -> None:
    files = sorted(dist.iterdir())

    ran = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )

    assert len(files) == 4
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", ["client", "daemon"])
def test_a_wheel_built_from_the_source_release_is_the_same(name: str, dist: Path, tmp_path: Path) -> None:
    [source] = dist.glob(f"memd_{name}-*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    [wheel] = dist.glob(f"memd_{name}-*.whl")

    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "out"],
        cwd=folder,
        capture_output=True,
        check=True,
    )

    again = zipfile.ZipFile(tmp_path / "out" / wheel.name)
    assert again.namelist() == zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize("name", ["client", "daemon"])
def test_a_wheel_says_what_it_is_and_brings_its_licence(name: str, dist: Path) -> None:
    [wheel] = dist.glob(f"memd_{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [info] = {each.partition("/")[0] for each in archive.namelist() if ".dist-info/" in each}
        facts = message_from_bytes(archive.read(f"{info}/METADATA"))
        licence = archive.read(f"{info}/licenses/LICENSE")

    assert licence == (ROOT / "LICENSE").read_bytes()
    assert facts["Name"] == f"memd-{name}"
    assert facts["Author"] == "memd developers"
    assert str(facts["License-Expression"]).startswith("MIT")
    assert facts["Description-Content-Type"] == "text/markdown"
    assert (ROOT / name / "README.md").read_text() in str(facts.get_payload())
    assert facts.get_all("Project-URL") is None


def test_both_programs_say_their_release(memd: InstalledPrograms) -> None:
    assert memd.run(memd.programs / "memd", "--version").stdout == "memd 0.1.0\n"
    assert memd.memctl("--version").stdout == "memctl 0.1.0\n"


def test_the_daemon_indexes_the_sample_and_finds_a_note(memd: InstalledPrograms) -> None:
    memd.memctl("index")

    assert memd.json("search", QUERY)["hits"][0]["path"] == NOTE


def test_the_page_is_served_with_its_files(memd: InstalledPrograms) -> None:
    url = memd.memctl("web", "--no-browser").stdout.strip()
    visitor = Visitor(url).enter()

    assert visitor.ask("GET", "/").status == 200
    assert visitor.call("search", {"query": QUERY}).json["result"]["hits"][0]["path"] == NOTE


def test_doctor_finds_a_sound_installation(memd: InstalledPrograms) -> None:
    findings = json.loads(memd.memctl("doctor", "--json", code=None).stdout)["findings"]

    assert {each["state"] for each in findings if each["area"] == "installation"} == {"ok"}


@pytest.mark.parametrize("arguments", [["doctor"], ["model", "pull", "minilm"]], ids=" ".join)
def test_the_command_for_local_models_is_named(memd: InstalledPrograms, arguments: list[str]) -> None:
    ran = memd.memctl(*arguments, code=None)

    assert f"`{memd.programs / 'python'} -m pip install 'gguf>=" in ran.stdout + ran.stderr


def test_an_mcp_client_finds_the_note(memd: InstalledPrograms) -> None:
    assert asyncio.run(_search_by_mcp(memd)) == {"memory_search": True, "found": True}


def test_the_repair_command_installs_the_same_wheels_again(memd: InstalledPrograms) -> None:
    hint = "from memd_client.installation import Installation; print(Installation().repair_hint())"

    memd.paste(memd.run(memd.programs / "python", "-c", hint).stdout)

    assert memd.memctl("--version").stdout == "memctl 0.1.0\n"


def test_a_client_alone_names_the_command_that_installs_the_daemon(dist: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    install([programs / "python", "-m", "pip", "install", wheels(dist)[0]])
    start = (
        "from memd_client import Client\n"
        "from memd_client.errors import DaemonStartError\n"
        "try: print(len(Client(autostart=True).status().agents))\n"
        "except DaemonStartError as error: print(error.hint)"
    )
    with installation(programs, tmp_path / "home") as client:
        hint = client.run(programs / "python", "-c", start).stdout

        client.paste(hint)

        assert client.run(programs / "python", "-c", start).stdout == "1\n"


@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_a_tool_installer_and_the_commands_named_there(
    tool: str, dist: Path, tools: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with installation(home / ".local" / "bin", home, [tools]) as memd:
        memd.environ["UV_PYTHON"] = sys.executable
        install(["/bin/sh", "-ec", commands_of(f"With {tool}")], memd.environ, dist.parent)
        memd.run(_python_of(memd), "-c", COPY_SAMPLE, memd.environ["OPENCLAW_STATE_DIR"])
        memd.memctl("index")
        assert memd.json("search", QUERY)["hits"][0]["path"] == NOTE

        assert asyncio.run(_search_by_mcp(memd)) == {"memory_search": True, "found": True}

        for command in ("Installation().repair_hint()", "f'`{Installation().add(\"tzdata\")}`'"):
            hint = f"from memd_client.installation import Installation; print({command})"
            memd.paste(memd.run(_python_of(memd), "-c", hint).stdout)
            assert memd.memctl("--version").stdout == "memctl 0.1.0\n"


def _python_of(memd: InstalledPrograms) -> Path:
    """Return the interpreter next to the program that `memctl` is a link to."""
    return (memd.programs / "memctl").resolve().with_name("python")


async def _search_by_mcp(memd: InstalledPrograms) -> dict[str, bool]:
    """Return whether the server has the tool that searches, and whether that finds the note."""
    program = [str(memd.programs / "memctl"), "mcp"]
    async with mcp_session(memd.environ, autostart=True, program=program) as session:
        tools = {each.name for each in (await session.list_tools()).tools}
        found = await session.call_tool("memory_search", {"query": QUERY})
        return {"memory_search": "memory_search" in tools, "found": NOTE in text_of(found)}
