"""How hints install an engine of local models: a wheel, or a build and what it needs."""

from __future__ import annotations

import pytest

from memd.embedding.local.extra import engines_crashed_error, extra_missing_error, install_hint
from memd_client.installation import Installation


def set_machine(monkeypatch: pytest.MonkeyPatch, *, libc: str, programs: set[str]) -> None:
    """Stand for a Linux machine with a C library and with programs on PATH."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.libc_ver", lambda: (libc, "2.36"))
    monkeypatch.setattr("shutil.which", lambda name: name if name in programs else None)
    monkeypatch.setattr("os.geteuid", lambda: 0)


def test_wheel_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    set_machine(monkeypatch, libc="glibc", programs=set())
    assert extra_missing_error("none").hint == f"run `{Installation().add_extra('local')}`"


def test_build_with_a_compiler_is_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    set_machine(monkeypatch, libc="", programs={"cc", "c++", "apk"})
    assert extra_missing_error("none").hint == f"run `{Installation().add_extra('local-build')}`"


@pytest.mark.parametrize(
    ("programs", "command"),
    [
        ({"apk"}, "run `apk add build-base linux-headers && {run}`"),
        ({"c++", "apt-get"}, "run `apt-get install -y build-essential && {run}`"),
        (set(), "install a compiler, then run `{run}`"),
    ],
)
def test_machine_without_wheel_and_compiler_gets_the_command_for_both(
    monkeypatch: pytest.MonkeyPatch, programs: set[str], command: str
) -> None:
    set_machine(monkeypatch, libc="", programs=programs)
    expected = command.format(run=Installation().add_extra("local-build"))

    hint = extra_missing_error("none").hint

    missing = "C compiler (cc, gcc, clang)" if "c++" in programs else "C++ compiler (c++, g++, clang++)"
    assert hint.startswith(f"{expected}; ")
    assert hint.endswith(f"needs a {missing}; keyword search works meanwhile")


def test_crash_of_the_wheel_names_the_compiler_that_a_build_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    set_machine(monkeypatch, libc="glibc", programs=set())
    assert engines_crashed_error(["xllamacpp"]).hint == install_hint("local-build")
    assert "C++ compiler" in install_hint("local-build")


def test_crash_of_a_build_names_the_wheel_and_of_both_a_new_build(monkeypatch: pytest.MonkeyPatch) -> None:
    set_machine(monkeypatch, libc="glibc", programs={"c++", "cc"})
    assert engines_crashed_error(["llama-cpp-python"]).hint == install_hint("local")
    both = engines_crashed_error(["llama-cpp-python", "xllamacpp"])
    assert both.message.startswith("llama-cpp-python and xllamacpp crashed")
    assert Installation().reinstall("llama-cpp-python") in both.hint
