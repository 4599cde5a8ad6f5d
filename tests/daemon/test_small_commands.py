"""Small things of `memctl` with a real daemon: notes from a pipe, named days, typos, weak hits."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome

MAIN = [sys.executable, "-c", "from memd.cli.main import main; main()"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon whose notes don't answer who leads Apple."""
    with StateHome(KEYWORD_ONLY) as home:
        for number in range(60):
            word = "apple tree" if number < 8 else "pear tree"
            home.note(
                f"memory/garden-{number:02d}.md", f"# Garden {number}\n\nThe {word} of bed {number} grows.\n"
            )
        with DaemonProcess(home) as process, process.client() as client:
            client.index()
            yield process


def note_of(daemon: DaemonProcess, location: str) -> str:
    """Return the text at a location that `memctl note` printed."""
    return daemon.memctl("get", location.split()[-1]).stdout


@pytest.mark.parametrize("arguments", [[], ["-"], ["--agent", "main"]])
def test_note_takes_its_text_from_a_pipe(daemon: DaemonProcess, arguments: list[str]) -> None:
    environ = {**os.environ, **daemon.home.environ(), "MEMD_AUTOSTART": "0"}
    ran = subprocess.run(
        [*MAIN, "note", *arguments],
        input=b"Tea at four\n",
        env=environ,
        capture_output=True,
        check=False,
        cwd="/",
    )

    assert ran.returncode == 0, ran.stderr
    assert "Tea at four" in note_of(daemon, ran.stdout.decode())


@pytest.mark.parametrize("words", [[], ["Tea"]])
def test_note_without_a_text_or_a_pipe_prints_its_help(daemon: DaemonProcess, words: list[str]) -> None:
    environ = {**os.environ, **daemon.home.environ(), "MEMD_AUTOSTART": "0"}
    ran = subprocess.run(
        [*MAIN, "note", *words],
        stdin=subprocess.DEVNULL,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )

    assert (ran.returncode, "Usage: memctl note" in ran.stderr) == ((0, False) if words else (2, True))


def test_named_days_are_dates_in_note_and_search(daemon: DaemonProcess) -> None:
    today = datetime.date.today()
    ages = {"today": 0, "yesterday": 1, f"{today - datetime.timedelta(3):%A}": 3}
    for name, age in ages.items():
        day = (today - datetime.timedelta(days=age)).isoformat()
        assert daemon.memctl("note", "--date", name, "Tea").stdout.startswith(f"added to memory/{day}.md:")
    assert daemon.memctl("note", "--date", "someday", "Tea").returncode == 2
    since = daemon.memctl("search", "--since", "yesterday", "--json", "tea")
    assert since.returncode == 0, since.stderr
    assert daemon.memctl("search", "--since", "someday", "tea").returncode == 1


def test_limit_is_the_number_of_results(daemon: DaemonProcess) -> None:
    for name in ("--limit", "--max-results"):
        found = json.loads(daemon.memctl("search", name, "2", "--json", "pear tree").stdout)
        assert len(found["hits"]) == 2


@pytest.mark.parametrize(
    ("name", "meant"),
    [("restart", "service restart"), ("stop", "service stop"), ("restrat", "service restart")],
)
def test_command_of_the_service_is_suggested(daemon: DaemonProcess, name: str, meant: str) -> None:
    ran = daemon.memctl(name)

    assert ran.returncode == 2
    assert f"Did you mean '{meant}'?" in ran.stderr
    assert "reset" not in ran.stderr


def test_other_mistyped_commands_are_suggested_as_before(daemon: DaemonProcess) -> None:
    assert "Did you mean 'search'?" in daemon.memctl("serch").stderr


def test_without_a_strong_hit_three_weak_ones_follow_a_warning(daemon: DaemonProcess) -> None:
    question = "who is the CEO of Apple"
    hits = json.loads(daemon.memctl("search", question, "--json").stdout)["hits"]
    assert {hit["relevance"] for hit in hits} == {"weak"}
    assert len(hits) > 3

    shown = daemon.memctl("search", question).stdout
    everything = daemon.memctl("search", question, "--include-weak").stdout

    warning = "No strong match. Weakly related:"
    assert shown.startswith(warning)
    assert everything.startswith(warning)
    assert shown.count("  weak 0.") == 3
    assert everything.count("  weak ") > 3
    assert warning not in daemon.memctl("search", "pear tree of bed 33").stdout


def broken(home: StateHome, kind: str) -> tuple[Path, str]:
    """Make a wrong file of settings, and return it with what the status says of it."""
    file = home.root / f"{kind}.toml"
    if kind == "folder":
        file.mkdir()
        return file, "is not a regular file"
    if kind == "broken":
        file.write_text("a = [1,\n[x")
        return file, "is not TOML"
    if kind == "latin":
        file.write_bytes(b"\xff")
        return file, "is not UTF-8"
    return file, "does not exist, although MEMD_CONFIG names it"


@pytest.mark.parametrize("kind", ["missing", "folder", "broken", "latin"])
def test_wrong_file_of_settings_is_shown_by_status_and_doctor(kind: str) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        file, problem = broken(home, kind)
        with DaemonProcess(home, {"MEMD_CONFIG": str(file)}) as daemon:
            for command in ("status", "doctor"):
                assert f"{file}: {problem}" in daemon.memctl(command).stdout


def test_misspelt_setting_is_shown_with_the_nearest_one() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        (home.root / "memd.toml").write_text(
            "max_file_mbs = 3\n[souces.codex]\n[hooks]\nenabeld = true\n[search.quary]\n[sources.codex]\nkep = true\n"
        )
        with DaemonProcess(home) as daemon:
            for command in ("status", "doctor"):
                shown = daemon.memctl(command).stdout
                for key, near in {
                    "max_file_mbs": "max_file_mb",
                    "souces": "sources",
                    "hooks.enabeld": "enabled",
                    "search.quary": "query",
                    "sources.codex.kep": "keep",
                }.items():
                    assert f"`{key}` is not a setting. Did you mean '{near}'?" in shown
