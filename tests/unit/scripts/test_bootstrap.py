"""The installer, without building anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from shutil import which as shutil_which

import pytest

from memd.embedding.local.extra import local_extra
from tests.support.scripts import load_script
from tests.support.sockets import wait_until

bootstrap = load_script("bootstrap")


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a virtual environment with this interpreter, a log and a stamp."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "memctl").touch()
    (tmp_path / "bin" / "pip").touch()
    for name, path in {"VENV": "", "STAMP": "stamp.json", "LOG": "install.log"}.items():
        monkeypatch.setattr(bootstrap, name, tmp_path / path)
    monkeypatch.setattr(bootstrap, "PYTHON", Path(sys.executable))
    return tmp_path


@pytest.fixture
def ran(venv: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the arguments of all pip calls, which are only recorded."""
    calls: list[list[str]] = []

    def run_pip(title: str, arguments: list[str], counts: bool = False) -> None:
        calls.append(arguments)

    monkeypatch.setattr(bootstrap, "run_pip", run_pip)
    return calls


def test_missing_compiler_is_named_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]]
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: "/bin/dnf" if name == "dnf" else None)
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 1000)

    assert bootstrap.is_compiler_needed("local-build")
    assert bootstrap.missing_compiler() == "C++ compiler (c++, g++, clang++)"
    assert bootstrap.add_compiler() == "sudo dnf install -y gcc-c++ && scripts/run"


def test_no_compiler_is_needed_once_the_local_part_is_installed(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]]
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)

    bootstrap.install_local("local-build")

    assert bootstrap.is_local_installed("local-build")
    assert not bootstrap.is_compiler_needed("local-build")


def test_mac_with_the_names_of_compilers_but_without_xcode_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("cc", "c++", "xcode-select"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 2\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(bootstrap.sys, "platform", "darwin")
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 501)
    with monkeypatch.context() as mac:
        mac.setattr(bootstrap.shutil, "which", lambda name: shutil_which(name, path=str(tmp_path)))

        assert bootstrap.missing_compiler() == "C++ compiler (c++, g++, clang++)"
        assert bootstrap.add_compiler() == "xcode-select --install && scripts/run"
        (tmp_path / "xcode-select").write_text("#!/bin/sh\nexit 0\n")
        assert bootstrap.missing_compiler() == ""


@pytest.mark.parametrize(("flags", "options"), [("", []), ("-DGGML_CUDA=on", ["--no-cache-dir"])])
def test_build_with_own_flags_replaces_an_earlier_build(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]], flags: str, options: list[str]
) -> None:
    bootstrap.install_local("local-build")
    monkeypatch.setenv("CMAKE_ARGS", flags)
    assert bootstrap.is_local_installed("local-build") == (not flags)

    bootstrap.install_local("local-build")
    bootstrap.install_local("local-build")

    assert [each for run in ran[1:] for each in run if each == "--no-cache-dir"] == options
    assert bootstrap.is_local_installed("local-build")


def test_own_flags_are_added_to_those_of_the_build(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    bootstrap.run_step("Building", ["sh", "-c", "echo $CMAKE_ARGS"])
    assert bootstrap.LOG.read_text() == f"{bootstrap.LLAMA_FLAGS} -DGGML_CUDA=on\n"


def test_development_installation_fails_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "--dev"])

    with pytest.raises(SystemExit) as caught:
        bootstrap.main()

    assert caught.value.code == 1
    assert "C++ compiler" in capsys.readouterr().err


def test_base_is_installed_by_two_runs_of_pip(ran: list[list[str]]) -> None:
    bootstrap.install_base()

    files = [word.rpartition("/")[2] for word in ran[0] if word.endswith(".txt")]
    assert (len(ran), files) == (2, ["run.txt", "build.txt"])


def test_killed_installation_is_continued(monkeypatch: pytest.MonkeyPatch, ran: list[list[str]]) -> None:
    bootstrap.install_base()
    done = len(ran)
    working = bootstrap.run_pip

    def killed(title: str, arguments: list[str], counts: bool = False) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "run_pip", killed)
    with pytest.raises(KeyboardInterrupt):
        bootstrap.install_local("local-build")
    monkeypatch.setattr(bootstrap, "run_pip", working)
    bootstrap.install_base()
    bootstrap.install_local("local-build")

    assert len(ran) == done + 1


def test_orphaned_pip_locks_out_other_installations(venv: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import bootstrap; from pathlib import Path\n"
        "bootstrap.VENV = Path(sys.argv[2]); bootstrap.LOG = bootstrap.VENV / 'install.log'\n"
        "with bootstrap.one_installation():\n"
        "    bootstrap.run_step('Installing', ['sh', '-c', 'echo $$; kill -9 $PPID; exec sleep 60'])"
    )
    scripts = Path(bootstrap.__file__).parent
    done = subprocess.run([sys.executable, "-c", code, scripts, venv], stdout=subprocess.DEVNULL)
    log = venv / "install.log"
    assert done.returncode == -signal.SIGKILL
    with (venv / "install.lock").open("w") as file:
        assert not bootstrap.is_locked_by(file)
        os.kill(int(log.read_text()), signal.SIGKILL)
        wait_until(lambda: bootstrap.is_locked_by(file))


def test_build_progress_counts_compiled_files(venv: Path) -> None:
    bootstrap.LOG.write_text(f"  [6/140] c++\n  [007/140] {'c++ ' * 500}\n")
    assert bootstrap.progress(30) == "7 of 140 files, 30 s"
    bootstrap.LOG.write_text("Collecting llama-cpp-python\n")
    assert bootstrap.progress(3) == "3 s"


def test_failed_installation_prints_the_end_of_its_log(
    venv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bootstrap.run_pip("Installing nothing", ["--no-such-option"])
    assert "no such option" in capsys.readouterr().err


def test_error_without_a_network_has_a_hint(
    venv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    (venv / "needed.txt").write_text("no-such-package==1")

    with pytest.raises(SystemExit):
        bootstrap.run_pip("Installing", ["--no-deps", "-r", str(venv / "needed.txt")])

    assert "check the network" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tail", "hint"),
    [
        ("CMake Error: no CMAKE_CXX_COMPILER could be found", "--no-local"),
        ("Network is unreachable", "network"),
        ("something else", "log"),
    ],
)
def test_failures_have_hints(tail: str, hint: str) -> None:
    assert hint in bootstrap.hint_for(tail)


def test_second_run_installs_nothing(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bootstrap.py"])
    bootstrap.main()
    first = len(ran)
    assert first
    bootstrap.main()
    assert len(ran) == first


def test_requirement_files_are_resolved_from_the_pyproject_files(tmp_path: Path) -> None:
    script = Path(bootstrap.__file__).with_name("requirements.py")
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    assert "xllamacpp" in (tmp_path / "local.in").read_text()
    assert "llama-cpp-python" not in (tmp_path / "local.in").read_text()
    assert "llama-cpp-python" in (tmp_path / "local-build.in").read_text()
    assert "memd-client" not in (tmp_path / "run.in").read_text()


@pytest.mark.parametrize(
    ("folder", "told"),
    [("memd-0.1.0.dist-info", "uninstall -y memd\n"), ("memd_daemon-0.1.0.dist-info", "")],
)
def test_distribution_of_the_old_name_is_uninstalled(
    folder: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib" / "python3.11" / "site-packages" / folder).mkdir(parents=True)
    installer = tmp_path / "installer"
    installer.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/said\n')
    installer.chmod(0o700)
    (tmp_path / "said").touch()
    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "installer", lambda: [str(installer), "install", "--no-compile"])

    bootstrap.remove_old_name()

    assert (tmp_path / "said").read_text() == told


@pytest.mark.parametrize(
    ("system", "machine", "libc", "options", "part"),
    [
        ("linux", "x86_64", "glibc", [], "local"),
        ("linux", "x86_64", "glibc", ["--build"], "local-build"),
        ("linux", "x86_64", "", [], "local-build"),
        ("linux", "riscv64", "glibc", [], "local-build"),
        ("darwin", "arm64", "", [], "local"),
        ("darwin", "x86_64", "", [], "local-build"),
    ],
)
def test_wheel_is_installed_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, libc: str, options: list[str], part: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", *options])
    monkeypatch.setattr(bootstrap.sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.libc_ver", lambda: (libc, "2.36"))
    assert bootstrap.local_part() == part
    if not options:
        assert local_extra() == part, "the hints of the daemon name the same part"
