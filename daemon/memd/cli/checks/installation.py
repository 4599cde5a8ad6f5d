"""Findings of `memctl doctor` about programs, settings, folders, leftovers, the machine and the service."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.cli.lines import count, size
from memd.service.install.unit_names import SERVICE, SOCKET, units_folder
from memd.system.state_file import load_text
from memd_client.discovery import home_directory

if TYPE_CHECKING:
    from subprocess import Popen

OK = "ok"
WARNING = "warning"
WRONG = "wrong"

NAMED = 3
"""Paths named in a finding before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        area: The group it is shown in.
        name: What was looked at, in a word or two.
        state: `ok`, `warning` (all works, and something asks for a look) or `wrong`.
        found: What is the case.
        fix: What to do, a command where there is one; empty where there is nothing to do.
    """

    area: str
    name: str
    state: str
    found: str
    fix: str = ""


def first_of(paths: Sequence[str]) -> str:
    """Return the first few paths of a list, and how many more there are."""
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more


Report = dict[str, Any]

PROGRAM = (sys.executable, "-P", "-m", "memd.service.check")

SETTINGS_S = 20.0
"""How long a look at programs, settings and files may take: a second, or more on a slow disk."""

INDEXES_S = 120.0
"""How long reading all indexes from end to end may take: about a second a gigabyte."""


def ask_engine(
    what: str, timeout_s: float | None = None, program: Sequence[str] = PROGRAM
) -> tuple[Report, list[Finding]]:
    """Return a report, and where there is none, a finding that says why."""
    import subprocess  # a doctor who asks a daemon does without it

    timeout_s = (SETTINGS_S if what == "settings" else INDEXES_S) if timeout_s is None else timeout_s
    name = "settings and files" if what == "settings" else "indexes"
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [*program, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _abandon(process)
            found = f"looking at {name} did not end within {timeout_s:g} s"
            fix = "Is a disk or a network file system hanging? `df` hangs as well then."
            return {}, [Finding("installation", name, WRONG, found, fix)]
        try:
            report = json.loads(out)
            assert isinstance(report, dict)
            return report, []
        except (ValueError, AssertionError):
            told = err.decode("utf-8", "replace").strip().splitlines()
            why = told[-1] if told else f"it ended with {process.returncode}"
            found = f"looking at {name} failed: {why}"
            return {}, [Finding("installation", name, WRONG, found, _repair_hint())]
    return {}, [Finding("installation", name, WRONG, f"{program[0]} can't be run", _repair_hint())]


def _repair_hint() -> str:
    from memd_client.installation import Installation

    return Installation().repair_hint()


def _abandon(process: Popen[bytes]) -> None:
    """End a process, and don't wait for one that not even a kill can end."""
    from subprocess import TimeoutExpired

    process.kill()
    with contextlib.suppress(TimeoutExpired):
        process.wait(1)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


OLDEST_PYTHON = (3, 11)

SCARCE_BYTES = 100_000_000
"""Free space below which indexes can soon no longer be written."""

LOW_BYTES = 512_000_000
"""Free space that asks for a look: an index and a download need some room beside what there is."""

FIX_OF_LEFTOVER = {
    "damaged index": "It was rebuilt from your Markdown: rm {path}",
    "unfinished adoption": "The next start removes it.",
    "unfinished download": "`memctl model pull` goes on with it; to be rid of it: rm {path}",
    "unfinished model": "The next `memctl model pull` removes it.",
}

FIX_OF_REFUSED = (
    "Move them to {toml}, below [search] for all agents or [agents.ID.search] for one, under the same names; "
    "docs/configuration.md#files has every place."
)


def check_programs(report: Report) -> list[Finding]:
    """Return how the programs are that memd stands on."""
    area, programs = "installation", report["programs"]
    python = programs["python"]
    is_new = tuple(map(int, python.split(".")[:2])) >= OLDEST_PYTHON
    found = [
        Finding(
            area, "Python", OK if is_new else WRONG, python, "" if is_new else "Install Python 3.11 or later."
        ),
        Finding(area, "memd", OK, report["version"]),
    ]
    if programs["fts5"]:
        found.append(Finding(area, "SQLite", OK, f"{programs['apsw']} with FTS5"))
    else:
        fix = programs["fixes"]["apsw"]
        found.append(Finding(area, "SQLite", WRONG, f"{programs['apsw']} has no FTS5", fix))
    if programs["sqlite_vec"]:
        found.append(Finding(area, "sqlite-vec", OK, f"{programs['sqlite_vec']}, loads"))
    else:
        is_wanted = programs["sqlite_vec_wanted"]
        fix = programs["fixes"]["sqlite-vec"] if is_wanted else ""
        text = f"not loaded ({programs['sqlite_vec_problem']}): vectors are compared without it"
        found.append(Finding(area, "sqlite-vec", WARNING if is_wanted else OK, text, fix))
    llama = programs["llama_cpp"]
    text = llama or "not installed: no local models, all else works"
    fix = "" if llama else f"To add it (needs a C++ compiler): `{programs['fixes']['llama-cpp-python']}`."
    found.append(Finding(area, "llama.cpp", OK, text, fix))
    return found


def check_settings(report: Report) -> list[Finding]:
    """Return how `openclaw.json` and `memd.toml` are."""
    found: list[Finding] = []
    for name, file in (("openclaw.json", report["config"]), ("memd.toml", report["daemon_config"])):
        problems = file["problems"]
        found += [Finding("settings", name, WRONG, each["message"], each["hint"]) for each in problems]
        if not problems:
            text = file["path"] if file["exists"] else f"{file['path']} is not there: defaults"
            found.append(Finding("settings", name, OK, text))
    unknown = report["config"]["unknown_keys"]
    if unknown:
        text = f"{count(len(unknown), 'key')} without meaning here: {first_of(unknown)}"
        fix = "Correct or remove them; docs/configuration.md has all keys."
        found.append(Finding("settings", "unknown keys", WARNING, text, fix))
    refused = report["config"]["refused_keys"]
    if refused:
        text = f"OpenClaw 2026.9 doesn't start with {count(len(refused), 'key')} of openclaw.json: {first_of(refused)}"
        toml = report["daemon_config"]["path"]
        found.append(Finding("settings", "refused keys", WARNING, text, FIX_OF_REFUSED.format(toml=toml)))
    return found


def check_folders(report: Report) -> list[Finding]:
    """Return whether what is written has a place, and room there."""
    found: list[Finding] = []
    index_bytes = sum(agent["index_bytes"] for agent in report["agents"])
    seen: set[int] = set()
    for folder in report["folders"]:
        name, path = folder["name"], folder["path"]
        if not folder["is_folder"]:
            found.append(
                Finding("disk", name, WRONG, f"{path}: a file is in the way", f"ls -ld {shlex.quote(path)}")
            )
        elif not folder["writable"]:
            fix = f"chmod u+rwx {shlex.quote(path)}"
            found.append(Finding("disk", name, WRONG, f"{path} can't be written", fix))
        else:
            text = path if folder["exists"] else f"{path} is made when it is needed"
            found.append(Finding("disk", name, OK, text))
        if folder["device"] not in seen:
            seen.add(folder["device"])
            found.append(_room(folder, index_bytes))
    return found


def _room(folder: Report, index_bytes: int) -> Finding:
    """Return how much room there is on a disk: a rebuilt index needs as much as the one it replaces."""
    free = folder["free_bytes"]
    text = f"{size(free)} free at {folder['path']}; indexes take {size(index_bytes)}"
    fix = f"Free some space: df -h {shlex.quote(folder['path'])}"
    if free < SCARCE_BYTES:
        return Finding("disk", "free space", WRONG, text, fix)
    if free < max(LOW_BYTES, index_bytes):
        return Finding("disk", "free space", WARNING, text, fix)
    return Finding("disk", "free space", OK, text)


def check_leftovers(report: Report) -> list[Finding]:
    """Return what lies about and takes room."""
    rows = report["leftovers"]
    if not rows:
        return [Finding("disk", "leftovers", OK, "none")]
    return [
        Finding(
            "disk",
            "leftovers",
            WARNING,
            f"{row['kind']}, {size(row['bytes'])}: {row['path']}",
            FIX_OF_LEFTOVER[row["kind"]].format(path=shlex.quote(row["path"])),
        )
        for row in rows
    ]


MACHINE = "machine"

FEW_DESCRIPTORS = 512
"""A daemon with a dozen agents and as many clients stays below."""

DAEMONS_DESCRIPTORS = 8192
"""What a daemon raises its own limit to, where the hard one lets it."""

FULL_SHARE = 0.8

WATCHES_A_FOLDER = 2
"""One for the hints between searches, and one for what a search asks the kernel itself."""

EARLIEST_MS = 1_735_689_600_000
"""The first of January 2025: no clock that is right shows less."""


def check_watches(report: Report, proc: Path = Path("/proc")) -> list[Finding]:
    """Return whether the system gives as many file events as there are folders to watch."""
    folders = sum(agent.get("folders", 0) for agent in report["agents"])
    needed = folders * WATCHES_A_FOLDER
    try:
        limit = int((proc / "sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return []  # not Linux: there is no such limit
    text = f"{count(folders, 'folder')} to watch, twice each, of {limit:,} the system watches for all programs of yours"
    if needed > limit * FULL_SHARE:
        fix = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, needed * 2)}"
        return [Finding(MACHINE, "file events", WARNING, text, fix)]
    return [Finding(MACHINE, "file events", OK, text)]


def check_descriptors(pid: int, proc: Path = Path("/proc")) -> Finding:
    """Return whether there are file descriptors enough: of the daemon that runs, else of one started from here."""
    hard, used = resource.getrlimit(resource.RLIMIT_NOFILE)[1], 0
    soft = DAEMONS_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DAEMONS_DESCRIPTORS, hard)
    if pid:
        try:
            told = (proc / str(pid) / "limits").read_text()
            used = len(os.listdir(proc / str(pid) / "fd"))
            soft = int(re.findall(r"^Max open files +(\d+)", told, re.MULTILINE)[0])
        except (OSError, ValueError, IndexError):
            pass
    text = f"{used:,} of {soft:,} open files of the daemon" if used else f"{soft:,} open files allowed"
    if soft < FEW_DESCRIPTORS or used > soft * FULL_SHARE:
        fix = "Raise the limit: `LimitNOFILE=4096` of the service, or `ulimit -n 4096` before the daemon starts."
        return Finding(MACHINE, "open files", WARNING, text, fix)
    return Finding(MACHINE, "open files", OK, text)


def check_clock(report: Report, now_ms: int) -> Finding:
    """Return whether the clock can be right, by itself and by the files."""
    if now_ms < EARLIEST_MS:
        return Finding(MACHINE, "clock", WRONG, "it is years behind", "Set it: `timedatectl set-ntp true`.")
    late = [
        f"{agent['agent']}: {path}" for agent in report["agents"] for path in agent.get("from_the_future", ())
    ]
    if late:
        text = f"{count(len(late), 'file')} from the future, by more than a day: {first_of(late)}"
        fix = "Is the clock right? If it is: `touch` them, else they count as the newest."
        return Finding(MACHINE, "clock", WARNING, text, fix)
    return Finding(MACHINE, "clock", OK, "no file is from the future")


SYSTEM_FOLDERS = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
INSTALL_SERVICE = "memctl service install"


def find_systemd_unit(environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the unit of the service; None where none is installed."""
    for folder in (Path(units_folder(environ, str(home))), *map(Path, SYSTEM_FOLDERS)):
        if (folder / SERVICE).is_file():
            return folder / SERVICE
    return None


def has_systemd_unit() -> bool:
    """Return whether a systemd service is installed for this user."""
    return find_systemd_unit(os.environ, Path(home_directory())) is not None


def find_launchd_log(home: Path, platform: str = sys.platform) -> str:
    """Return where launchd keeps the log; empty where no launch agent is installed."""
    if platform != "darwin" or not _plist_path(home).is_file():
        return ""
    from memd.service.install import launchd

    return launchd.log_file(str(home))


def _plist_path(home: Path) -> Path:
    """Return where the launch agent's file is."""
    from memd.service.install import launchd  # here: Linux, which has none, does without plistlib

    return Path(launchd.plist_path(launchd.agents_folder(str(home))))


def check_service(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> list[Finding]:
    """Return how the service is."""
    if platform == "darwin":
        plist = _plist_path(home)
        found = f"{plist}" if plist.is_file() else "not installed: clients start the daemon when it is needed"
        return [Finding("service", "launchd", OK, found)]
    unit = find_systemd_unit(environ, home)
    if unit is None:
        return [
            Finding("service", "systemd", OK, "not installed: clients start the daemon when it is needed")
        ]
    program = _program_of(unit)
    if program and shutil.which(program) is None:
        found = f"{unit} starts {program}, which is not there"
        return [Finding("service", "systemd", WRONG, found, f"{INSTALL_SERVICE}, after memd is installed")]
    wants = Path(units_folder(environ, str(home)))
    enabled = [
        name
        for name, target in ((SOCKET, "sockets.target"), (SERVICE, "default.target"))
        if (wants / f"{target}.wants" / name).is_symlink()
    ]
    if not enabled:
        found = f"{unit} is installed and not enabled: it doesn't start by itself"
        return [Finding("service", "systemd", WARNING, found, INSTALL_SERVICE)]
    return [Finding("service", "systemd", OK, f"{unit}, enabled: {', '.join(enabled)}")]


def _program_of(unit: Path) -> str:
    """Return the program a unit starts; empty where that isn't plain."""
    try:
        line = re.search(r'^ExecStart=[-@:+!]*("[^"]+"|\S+)', load_text(unit), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    program = line[1].strip('"') if line else ""
    return "" if "%" in program else program
