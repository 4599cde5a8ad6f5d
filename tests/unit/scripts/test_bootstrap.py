"""The installer: what it says before it builds anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scripts import load_script

bootstrap = load_script("bootstrap")


def test_a_missing_compiler_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    monkeypatch.setattr(bootstrap, "run_pip", lambda title, arguments: pytest.fail("nothing may be built"))
    with pytest.raises(SystemExit) as caught:
        bootstrap.install_part("local")
    assert caught.value.code == 1
    said = capsys.readouterr().err
    assert "c++" in said
    assert "build-essential" in said
    assert "--no-local" in said


def test_a_failed_installation_shows_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(bootstrap, "PYTHON", Path(sys.executable))
    with pytest.raises(SystemExit):
        bootstrap.run_pip("Installing nothing", ["--no-such-option"])
    assert "no such option" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tail", "way"),
    [
        ("CMake Error: no CMAKE_CXX_COMPILER could be found", "--no-local"),
        ("Network is unreachable", "network"),
        ("something else", "log"),
    ],
)
def test_every_failure_has_a_way_out(tail: str, way: str) -> None:
    assert way in bootstrap.way_out(tail)


def test_a_second_run_installs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamp = tmp_path / "stamp.json"
    monkeypatch.setattr(bootstrap, "STAMP", stamp)
    monkeypatch.setattr(bootstrap, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(bootstrap, "VENV", Path(sys.executable).parent.parent)
    done: list[str] = []
    monkeypatch.setattr(bootstrap, "run_pip", lambda title, arguments: done.append(title))
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "--no-local"])
    bootstrap.main()
    first = len(done)
    assert first
    bootstrap.main()
    assert len(done) == first


def test_the_requirement_files_are_resolved_from_the_pyprojects(tmp_path: Path) -> None:
    script = Path(bootstrap.__file__).with_name("requirements.py")
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    assert "llama-cpp-python" in (tmp_path / "local.in").read_text()
    assert "memd-client" not in (tmp_path / "run.in").read_text()
