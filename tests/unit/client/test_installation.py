"""The commands that hints name, for each kind of environment memd can be installed into."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd_client.installation import Installation

REQUIRES = (
    "memd-client==0.1.0",
    "apsw>=3.51",
    "sqlite-vec==0.1.9",
    "mcp<2,>=1.30; extra == 'mcp'",
    'gguf>=0.10; extra == "local"',
    "xllamacpp>=2026.10.11549; extra == 'local'",
    "llama-cpp-python>=0.3.24; extra == 'local-build'",
)


class Environment:
    """A virtual environment on paper: what installers leave in one."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.packages = prefix / "lib" / "site-packages"
        self.packages.mkdir(parents=True)
        self.put("pip", [])

    def put(
        self, name: str, requires: list[str], origin: Path | None = None, *, editable: bool = False
    ) -> None:
        """Make a distribution, installed from a file or folder unless it came from an index."""
        folder = self.packages / f"{name.replace('-', '_')}-0.1.0.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 0.1.0"]
        (folder / "METADATA").write_text(
            "\n".join([*lines, *(f"Requires-Dist: {each}" for each in requires)])
        )
        if origin is not None:
            kind = {"dir_info": {"editable": editable}} if origin.is_dir() else {"archive_info": {}}
            (folder / "direct_url.json").write_text(json.dumps({"url": origin.as_uri(), **kind}))

    @property
    def installation(self) -> Installation:
        """What the client says about it."""
        return Installation("/env dir/bin/python", str(self.prefix), [str(self.packages)])


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment with the daemon from an index."""
    made = Environment(tmp_path / "root" / ".venv")
    made.put("memd-client", [])
    made.put("memd-daemon", list(REQUIRES))
    return made


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout, without an environment."""
    root = tmp_path / "root"
    for name in ("client", "daemon", "scripts"):
        (root / name).mkdir(parents=True)
    (root / "scripts" / "run").touch()
    (root / "daemon" / "pyproject.toml").touch()
    return root


def test_an_environment_with_pip_installs_the_releases_that_the_metadata_requires(
    environment: Environment,
) -> None:
    here = environment.installation

    assert here.add_extra("mcp") == "'/env dir/bin/python' -m pip install 'mcp<2,>=1.30'"
    assert here.add_extra("local") == (
        "'/env dir/bin/python' -m pip install 'gguf>=0.10' 'xllamacpp>=2026.10.11549'"
    )
    assert here.reinstall("sqlite-vec") == (
        "'/env dir/bin/python' -m pip install --force-reinstall sqlite-vec==0.1.9"
    )
    assert here.repair_hint() == "reinstall memd-daemon as described in docs/install.md"


def test_an_environment_without_pip_uses_uv(environment: Environment) -> None:
    (environment.packages / "pip-0.1.0.dist-info" / "METADATA").unlink()
    (environment.packages / "pip-0.1.0.dist-info").rmdir()
    here = environment.installation

    assert here.add_extra("mcp") == "uv pip install --python '/env dir/bin/python' 'mcp<2,>=1.30'"
    assert here.reinstall("apsw") == "uv pip install --python '/env dir/bin/python' --reinstall 'apsw>=3.51'"


def test_an_environment_without_pip_uses_pip_of_its_base_python(
    environment: Environment, tmp_path: Path
) -> None:
    (environment.packages / "pip-0.1.0.dist-info" / "METADATA").unlink()
    (environment.packages / "pip-0.1.0.dist-info").rmdir()
    (environment.prefix / "pyvenv.cfg").write_text(f"home = {tmp_path}\nversion = 3.11.7\n")
    (tmp_path / "pip3").touch()

    assert environment.installation.add_extra("mcp") == (
        f"{tmp_path}/python3 -m pip --python '/env dir/bin/python' install 'mcp<2,>=1.30'"
    )


def test_a_uv_tool_is_extended_by_uv_and_repaired_by_an_upgrade(environment: Environment) -> None:
    (environment.prefix / "uv-receipt.toml").touch()
    here = environment.installation

    assert here.add_extra("mcp") == "uv pip install --python '/env dir/bin/python' 'mcp<2,>=1.30'"
    assert here.repair_hint() == "reinstall memd with `uv tool upgrade --reinstall .venv`"


def test_a_pipx_application_is_extended_by_pipx(environment: Environment) -> None:
    (environment.prefix / "pipx_metadata.json").touch()
    here = environment.installation

    assert here.add_extra("mcp") == "pipx inject .venv 'mcp<2,>=1.30'"
    assert here.reinstall("apsw") == "pipx runpip .venv install --force-reinstall 'apsw>=3.51'"
    assert here.repair_hint() == "reinstall memd with `pipx reinstall .venv`"


def test_a_clone_is_extended_and_repaired_by_its_run_script(tmp_path: Path, clone: Path) -> None:
    made = Environment(clone / ".venv")
    made.put("memd-daemon", list(REQUIRES), clone / "daemon", editable=True)
    here = made.installation

    assert here.add_extra("local") == f"{clone}/scripts/run"
    assert here.add_extra("local-build") == f"{clone}/scripts/run --build"
    assert here.add_extra("mcp") == "'/env dir/bin/python' -m pip install 'mcp<2,>=1.30'"
    assert here.repair_hint() == f"reinstall memd with `rm -r {clone}/.venv && {clone}/scripts/run`"


def test_an_environment_installed_from_a_clone_is_not_the_clones_environment(
    tmp_path: Path, clone: Path
) -> None:
    made = Environment(tmp_path / "other" / ".venv")
    made.put("memd-client", [], clone / "client", editable=True)
    here = made.installation

    assert "scripts/run" not in here.add_extra("local")
    assert here.daemon_hint() == (f"install it with `'/env dir/bin/python' -m pip install -e {clone}/daemon`")


def test_the_daemon_hint_names_the_wheel_next_to_the_clients_wheel(tmp_path: Path) -> None:
    wheels = tmp_path / "my wheels"
    wheels.mkdir()
    client = wheels / "memd_client-0.1.0-py3-none-any.whl"
    client.touch()
    made = Environment(tmp_path / "venv")
    made.put("memd-client", [], client)
    assert made.installation.daemon_hint().startswith("install memd-daemon as described in docs/install.md")

    (wheels / "memd_daemon-0.0.9-py3-none-any.whl").touch()
    daemon = wheels / "memd_daemon-0.1.0-py3-none-any.whl"
    daemon.touch()

    assert made.installation.daemon_hint() == (
        f"install it with `'/env dir/bin/python' -m pip install '{daemon}'`"
    )


def test_existing_wheels_repair_an_installation(tmp_path: Path) -> None:
    made = Environment(tmp_path / "venv")
    for name in ("client", "daemon"):
        wheel = tmp_path / f"{name}.whl"
        wheel.touch()
        made.put(f"memd-{name}", [], wheel)

    assert made.installation.repair_hint() == (
        "reinstall memd with `'/env dir/bin/python' -m pip install --force-reinstall "
        f"{tmp_path}/client.whl {tmp_path}/daemon.whl`"
    )
