"""The settings' requirements of a service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memd.service.needs import find_needs


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A state directory with an agent that has every kind of folder."""
    state = tmp_path / "state"
    state.mkdir()
    settings = {
        "provider": "none",
        "store": {"path": str(tmp_path / "indexes" / "{agentId}.sqlite")},
        "extraPaths": [str(tmp_path / "notes")],
        "local": {"modelCacheDir": str(tmp_path / "gguf")},
    }
    config = {"agents": {"defaults": {"workspace": str(tmp_path / "ws"), "memorySearch": settings}}}
    (state / "openclaw.json").write_text(json.dumps(config))
    (tmp_path / "memd.toml").write_text('vector_ram_mb = 100\nmodel_ram_mb = 1000\nsocket = "/run/x"\n')
    return {
        "OPENCLAW_STATE_DIR": str(state),
        "MEMD_CONFIG": str(tmp_path / "memd.toml"),
        "MEMD_MODEL_DIR": str(tmp_path / "models"),
        "OPENAI_API_KEY": "sk-do-not-tell",
        "LANG": "C.UTF-8",
    }


def test_every_folder_of_the_settings_is_found(environ: dict[str, str], tmp_path: Path) -> None:
    found = find_needs(environ, tmp_path / "home")

    folders = ("state", "indexes", "models", "ws", "gguf")
    assert found["written"] == [str(tmp_path / each) for each in folders]
    assert found["read"] == [str(tmp_path / "ws"), str(tmp_path / "notes")]


def test_workspaces_in_the_state_directory_are_written_with_it(tmp_path: Path) -> None:
    found = find_needs({"OPENCLAW_STATE_DIR": str(tmp_path / "state")}, tmp_path / "home")

    assert found["read"] == [str(tmp_path / "state" / "workspace")]
    assert found["read"][0] not in found["written"]


def test_variables_of_settings_are_copied_and_keys_only_named(
    environ: dict[str, str], tmp_path: Path
) -> None:
    found = find_needs({**environ, "MEMD_CONFIG": "relative.toml"}, tmp_path / "home")

    assert found["environ"] == {
        "OPENCLAW_STATE_DIR": environ["OPENCLAW_STATE_DIR"],
        "MEMD_MODEL_DIR": environ["MEMD_MODEL_DIR"],
        "MEMD_CONFIG": os.path.abspath("relative.toml"),
    }
    assert found["hidden"] == ["OPENAI_API_KEY"]
    assert "sk-do-not-tell" not in json.dumps(found)


def test_socket_of_the_environment_overrides_the_settings(environ: dict[str, str], tmp_path: Path) -> None:
    named = {**environ, "MEMD_SOCKET": "/run/y"}
    (tmp_path / ".openclaw").symlink_to(tmp_path / "state")

    assert find_needs(environ, tmp_path)["socket"] == "/run/x"
    assert find_needs(named, tmp_path)["socket"] == "/run/y"
    assert find_needs({"OPENCLAW_STATE_DIR": str(tmp_path), "MEMD_CONFIG": "/none"}, tmp_path)["socket"] == ""


def test_settings_name_the_socket_of_the_default_state_folder_alone(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """`memd.toml` is shared: another folder's service would take the first one's socket."""
    work = {**environ, "OPENCLAW_STATE_DIR": str(tmp_path / ".openclaw-work")}

    assert find_needs(work, tmp_path)["socket"] == ""


def test_command_line_reads_them_from_a_new_process(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".openclaw").symlink_to(tmp_path / "state")
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "memd.service.needs"],
        env={**os.environ, **environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert json.loads(ran.stdout)["socket"] == "/run/x"
