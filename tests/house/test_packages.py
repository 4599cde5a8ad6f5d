"""Published packages: their names, licences and version."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.support.tree import ROOT, project_files, relative

NODE = ROOT / "client" / "node"
PLUGIN = ROOT / "client" / "openclaw-plugin"
PACKAGES = (ROOT / "client", ROOT / "daemon", NODE, PLUGIN)

STRANGERS = "mem" + "d|mem" + "ctl"
"""Package names on registries that belong to other projects."""

INSTALLS_A_STRANGER = re.compile(
    r"(?<![\w./-])"
    r"(?:(?:uvx|npx|pnpx|bunx)|(?:pip3?|pipx|uv|npm|pnpm|yarn|bun)(?:\s+[-\w=./]+)*?"
    r"\s+(?:install|i|add|run|exec|dlx|inject|upgrade|update|download|wheel|create))"
    r"(?:\s+[^\s`&;|()]+)*?"
    rf"\s+[\"']*(?:{STRANGERS})(?:\[[\w,\s-]*\])?(?![\w/-]|\.\w)",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "command",
    [
        "pip install {}",
        "pip3 install -U '{}[mcp,local]>=1'",
        'python -m pip install\n  "{}"',
        "uv pip install --python x/bin/python {}==0.1.0",
        "uv tool install {}",
        "uv add {}",
        "uvx {} search",
        "uvx --from {} x",
        "pipx install --force {}",
        "pipx run {}",
        "npm install {}@latest",
        "npm i -g {}.",
        "npx -y {}",
        "pnpm dlx {}",
        "yarn add left-pad {}",
    ],
)
@pytest.mark.parametrize("name", STRANGERS.split("|"))
def test_install_command_of_a_foreign_package_is_recognized(command: str, name: str) -> None:
    assert INSTALLS_A_STRANGER.search(command.format(name))
    assert not INSTALLS_A_STRANGER.search(command.format(f"{name}-daemon"))
    assert not INSTALLS_A_STRANGER.search(command.format(f"./dist/{name}_daemon-0.1.0.whl") + f" && {name} x")


def test_no_text_tells_users_to_install_a_foreign_package() -> None:
    found = {}
    for path in project_files():
        match = INSTALLS_A_STRANGER.search(path.read_bytes().decode("utf-8", "replace"))
        if match:
            found[relative(path)] = match[0]

    assert found == {}


def test_every_package_has_the_licence_of_the_repository() -> None:
    licence = (ROOT / "LICENSE").read_text()

    assert "Copyright (c) 2026 memd developers" in licence
    assert [relative(folder) for folder in PACKAGES if (folder / "LICENSE").read_text() != licence] == []
    assert [
        relative(folder) for folder in (NODE, PLUGIN) if "LICENSE" not in _package_json(folder)["files"]
    ] == []


def test_all_packages_have_the_same_version() -> None:
    client, daemon = (_project(name) for name in ("client", "daemon"))
    lock = json.loads((PLUGIN / "package-lock.json").read_text())
    copied = lock["packages"]["node_modules/memd-client"]

    assert (client["name"], daemon["name"]) == ("memd-client", "memd-daemon")
    assert {
        client["version"],
        daemon["version"],
        _package_json(NODE)["version"],
        _package_json(PLUGIN)["version"],
        _package_json(PLUGIN)["dependencies"]["memd-client"],
        lock["packages"][""]["dependencies"]["memd-client"],
        lock["version"],
        copied["version"],
    } == {client["version"]}
    assert f"memd-client=={client['version']}" in daemon["dependencies"]
    assert copied["dependencies"] == _package_json(NODE)["dependencies"]


def test_client_sdist_holds_only_the_python_client() -> None:
    names = {each.distribution_path for each in SdistBuilder(str(ROOT / "client")).recurse_included_files()}

    assert {name.partition("/")[0] for name in names} == {"memd_client"}
    assert "memd_client/py.typed" in names


def test_daemon_distributions_hold_the_page_the_sample_and_the_service() -> None:
    for builder in (SdistBuilder(str(ROOT / "daemon")), WheelBuilder(str(ROOT / "daemon"))):
        names = {each.distribution_path for each in builder.recurse_included_files()}
        tracked = {
            path.relative_to(ROOT / "daemon").as_posix()
            for path in project_files()
            if path.is_relative_to(ROOT / "daemon" / "memd")
        }
        assert names >= tracked
        assert {"memd/page/static/index.html", "memd/sample/state/openclaw.json", "memd/py.typed"} <= tracked


def _project(name: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"]
    return project


def _package_json(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "package.json").read_text())
    return facts
