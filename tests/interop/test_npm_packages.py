"""What `npm pack` makes of the Node client and the plugin: complete, and enough for `npm install` and for OpenClaw."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.node import npm_install, run_node
from tests.support.openclaw import NODE_CLIENT, PLUGIN, OpenClawInstallation, plugin_folder, settings
from tests.support.state_homes import StateHome

pytestmark = pytest.mark.long

PACK = ("npm", "pack", "--json", "--ignore-scripts", "--no-update-notifier", "--pack-destination")
CALLS_CLIENT = 'import { Client } from "memd-client"; console.log(typeof Client.prototype.search);'


def pack(folder: Path, where: Path) -> tuple[Path, set[str]]:
    """Return the tarball of a package, and the files in it."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which packs packages")
    ran = subprocess.run(
        [*PACK, str(where)], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    told = json.loads(ran.stdout)
    [facts] = told if isinstance(told, list) else told.values()
    return where / facts["filename"], {each["path"] for each in facts["files"]}


def project(where: Path) -> Path:
    """Make an empty Node project."""
    where.mkdir()
    (where / "package.json").write_text('{"private": true, "type": "module"}\n')
    return where


def test_the_clients_tarball_is_complete_and_installs(tmp_path: Path) -> None:
    tarball, files = pack(NODE_CLIENT, tmp_path)
    where = project(tmp_path / "project")
    (where / "use.js").write_text(CALLS_CLIENT)

    npm_install(where, [tarball])

    library = {f"lib/{path.name}" for path in (NODE_CLIENT / "lib").iterdir()}
    assert files == {"LICENSE", "README.md", "package.json", *library}
    assert run_node(["use.js"], cwd=where).stdout == "function\n"


def test_the_plugins_tarball_contains_its_client_and_installs_alone(tmp_path: Path) -> None:
    folder = plugin_folder(tmp_path)
    lock = (folder / "package-lock.json").read_bytes()
    tarball, files = pack(folder, tmp_path)
    where = project(tmp_path / "project")

    npm_install(where, [tarball])

    own = {path for path in files if not path.startswith("node_modules/")}
    sources = {f"src/{path.name}" for path in (PLUGIN / "src").iterdir()}
    assert own == {"LICENSE", "README.md", "index.js", "openclaw.plugin.json", "package.json", *sources}
    assert {"node_modules/memd-client/LICENSE", "node_modules/@msgpack/msgpack/package.json"} <= files
    assert lock == (PLUGIN / "package-lock.json").read_bytes(), "npm rewrote the lock"
    plugin = where / "node_modules" / "memd-openclaw"
    (plugin / "use.js").write_text(CALLS_CLIENT)
    assert run_node(["use.js"], cwd=plugin).stdout == "function\n"
    checked = subprocess.run(["npm", "ls", "--all"], cwd=where, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_openclaw_installs_the_plugins_tarball(tmp_path: Path) -> None:
    tarball, _ = pack(plugin_folder(tmp_path), tmp_path)
    with StateHome(settings("http://127.0.0.1:9")) as home:
        home.note("MEMORY.md", "# Ports\n\nThe staging gateway listens on port 8443.\n")
        openclaw = OpenClawInstallation(home)

        openclaw.run("plugins", "install", f"npm-pack:{tarball}", "--force", "--accept-capabilities")

        openclaw.run("plugins", "disable", "memory-core")
        with DaemonProcess(home):
            assert "8443" in openclaw.run("memory", "search", "staging gateway").stdout
