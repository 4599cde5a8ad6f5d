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
from memd.service.install.unit_names import unit_names, units_folder
from memd.system.state_file import load_text
from memd_client.discovery import home_directory
from memd_client.state_folder import USUAL_NAME, daemon_name

if TYPE_CHECKING:
    from subprocess import Popen

OK = "ok"
WARNING = "warning"
WRONG = "wrong"

MAX_NAMED_PATHS = 3
"""Paths named in a finding; the others are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        area: The heading it is shown below.
        name: What was checked, in one or two words.
        state: `ok`, `warning` (works, but needs attention) or `wrong`.
        found: The result in words.
        fix: A command or an action; empty if none is needed.
    """

    area: str
    name: str
    state: str
    found: str
    fix: str = ""


def first_paths(paths: Sequence[str]) -> str:
    """Return the first few paths of a list, and how many more there are."""
    more = f" and {len(paths) - MAX_NAMED_PATHS:,} more" if len(paths) > MAX_NAMED_PATHS else ""
    return ", ".join(paths[:MAX_NAMED_PATHS]) + more


Report = dict[str, Any]

PROGRAM = (sys.executable, "-P", "-m", "memd.service.check")

SETTINGS_TIMEOUT_S = 20.0
"""Deadline of the report on programs, settings and files; slow disks need more than a second."""

INDEXES_TIMEOUT_S = 120.0
"""Deadline of the integrity check of all indexes, which reads them whole."""


def run_check(
    what: str, timeout_s: float | None = None, program: Sequence[str] = PROGRAM
) -> tuple[Report, list[Finding]]:
    """Return a report of `memd.service.check`, or a finding on why there is none."""
    import subprocess  # imported here: not needed if the daemon makes the report

    timeout_s = (
        (SETTINGS_TIMEOUT_S if what == "settings" else INDEXES_TIMEOUT_S) if timeout_s is None else timeout_s
    )
    name = "settings and files" if what == "settings" else "indexes"
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [*program, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            found = f"check of {name} timed out after {timeout_s:g} s"
            fix = "run `df` to find a disk or network file system that does not respond"
            return {}, [Finding("installation", name, WRONG, found, fix)]
        try:
            report = json.loads(out)
            assert isinstance(report, dict)
            return report, []
        except (ValueError, AssertionError):
            lines = err.decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            found = f"check of {name} failed: {reason}"
            return {}, [Finding("installation", name, WRONG, found, _repair_hint())]
    return {}, [Finding("installation", name, WRONG, f"cannot run {program[0]}", _repair_hint())]


def _repair_hint() -> str:
    from memd_client.installation import Installation

    return Installation().repair_hint()


def _kill(process: Popen[bytes]) -> None:
    """Kill a process; wait for its end for a second only."""
    from subprocess import TimeoutExpired

    process.kill()
    with contextlib.suppress(TimeoutExpired):
        process.wait(1)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


OLDEST_PYTHON = (3, 11)

SCARCE_BYTES = 100_000_000
"""Below this free space, writing indexes is about to fail."""

LOW_BYTES = 512_000_000
"""Below this free space, a new index or a model download may not fit."""

LEFTOVER_FIXES = {
    "damaged index": "run `rm {path}`: the index was rebuilt from your Markdown files",
    "unfinished adoption": "no action needed: the next start removes it",
    "unfinished download": "run `memctl model pull` to continue it, or `rm {path}` to remove it",
    "unfinished model": "no action needed: the next `memctl model pull` removes it",
}

REFUSED_KEYS_FIX = (
    "move them to {toml}, to [search] for all agents or [agents.ID.search] for one, with the same names; "
    "see docs/configuration.md"
)


def check_programs(report: Report) -> list[Finding]:
    """Return the findings on Python, memd, SQLite, sqlite-vec and llama.cpp."""
    area, programs = "installation", report["programs"]
    python = programs["python"]
    is_new = tuple(map(int, python.split(".")[:2])) >= OLDEST_PYTHON
    found = [
        Finding(
            area, "Python", OK if is_new else WRONG, python, "" if is_new else "install Python 3.11 or later"
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
        text = f"not loaded ({programs['sqlite_vec_problem']}); vector search works without it"
        found.append(Finding(area, "sqlite-vec", WARNING if is_wanted else OK, text, fix))
    llama = programs["llama_cpp"]
    text = llama or "not installed; needed for local models only"
    fix = "" if llama else f"run `{programs['fixes']['llama-cpp-python']}` (needs a C++ compiler)"
    found.append(Finding(area, "llama.cpp", OK, text, fix))
    return found


def check_settings(report: Report) -> list[Finding]:
    """Return the findings on `openclaw.json` and `memd.toml`."""
    found: list[Finding] = []
    for name, file in (("openclaw.json", report["config"]), ("memd.toml", report["daemon_config"])):
        problems = file["problems"]
        found += [Finding("settings", name, WRONG, each["message"], each["hint"]) for each in problems]
        if not problems:
            text = file["path"] if file["exists"] else f"{file['path']} does not exist; defaults apply"
            found.append(Finding("settings", name, OK, text))
    unknown = report["config"]["unknown_keys"]
    if unknown:
        text = f"{count(len(unknown), 'unknown key')}: {first_paths(unknown)}"
        fix = "correct or remove them; docs/configuration.md lists all keys"
        found.append(Finding("settings", "unknown keys", WARNING, text, fix))
    refused = report["config"]["refused_keys"]
    if refused:
        text = (
            f"OpenClaw 2026.9 refuses {count(len(refused), 'key')} of openclaw.json: {first_paths(refused)}"
        )
        toml = report["daemon_config"]["path"]
        found.append(Finding("settings", "refused keys", WARNING, text, REFUSED_KEYS_FIX.format(toml=toml)))
    return found


def check_folders(report: Report) -> list[Finding]:
    """Return the findings on the folders that memd writes, and their free space."""
    found: list[Finding] = []
    index_bytes = sum(agent["index_bytes"] for agent in report["agents"])
    seen: set[int] = set()
    for folder in report["folders"]:
        name, path = folder["name"], folder["path"]
        if not folder["is_folder"]:
            found.append(
                Finding("disk", name, WRONG, f"{path} is a file, not a folder", f"ls -ld {shlex.quote(path)}")
            )
        elif not folder["writable"]:
            fix = f"chmod u+rwx {shlex.quote(path)}"
            found.append(Finding("disk", name, WRONG, f"{path} is not writable", fix))
        else:
            text = path if folder["exists"] else f"{path} will be created when needed"
            found.append(Finding("disk", name, OK, text))
        if folder["device"] not in seen:
            seen.add(folder["device"])
            found.append(_free_space(folder, index_bytes))
    return found


def _free_space(folder: Report, index_bytes: int) -> Finding:
    """Return the finding on a disk's free space: a rebuilt index needs as much as the old one."""
    free = folder["free_bytes"]
    text = f"{size(free)} free in {folder['path']}; indexes use {size(index_bytes)}"
    fix = f"free disk space; see `df -h {shlex.quote(folder['path'])}`"
    if free < SCARCE_BYTES:
        return Finding("disk", "free space", WRONG, text, fix)
    if free < max(LOW_BYTES, index_bytes):
        return Finding("disk", "free space", WARNING, text, fix)
    return Finding("disk", "free space", OK, text)


def check_leftovers(report: Report) -> list[Finding]:
    """Return the findings on leftover files."""
    rows = report["leftovers"]
    if not rows:
        return [Finding("disk", "leftovers", OK, "none")]
    return [
        Finding(
            "disk",
            "leftovers",
            WARNING,
            f"{row['kind']}, {size(row['bytes'])}: {row['path']}",
            LEFTOVER_FIXES[row["kind"]].format(path=shlex.quote(row["path"])),
        )
        for row in rows
    ]


MACHINE = "machine"

MIN_DESCRIPTORS = 512
"""Enough for a dozen agents and as many clients."""

DAEMON_DESCRIPTOR_LIMIT = 8192
"""Limit of open files that the daemon sets for itself, if the hard limit permits."""

MAX_USED_SHARE = 0.8

WATCHES_PER_FOLDER = 2
"""One for the watcher, and one that searches read directly."""

EARLIEST_CREDIBLE_MS = 1_735_689_600_000
"""1 January 2025: a clock before that is wrong."""


def check_watches(report: Report, proc: Path = Path("/proc")) -> list[Finding]:
    """Return whether inotify's limit of watches suffices for all folders."""
    folders = sum(agent.get("folders", 0) for agent in report["agents"])
    needed = folders * WATCHES_PER_FOLDER
    try:
        limit = int((proc / "sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return []  # not Linux
    text = f"{count(folders, 'folder')} with {WATCHES_PER_FOLDER} watches each; limit for all programs: {limit:,}"
    if needed > limit * MAX_USED_SHARE:
        fix = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, needed * 2)}"
        return [Finding(MACHINE, "file events", WARNING, text, fix)]
    return [Finding(MACHINE, "file events", OK, text)]


def check_descriptors(pid: int, proc: Path = Path("/proc")) -> Finding:
    """Return whether the limit of open files suffices, for the running daemon or for one started here."""
    hard, used = resource.getrlimit(resource.RLIMIT_NOFILE)[1], 0
    soft = DAEMON_DESCRIPTOR_LIMIT if hard == resource.RLIM_INFINITY else min(DAEMON_DESCRIPTOR_LIMIT, hard)
    if pid:
        try:
            limits = (proc / str(pid) / "limits").read_text()
            used = len(os.listdir(proc / str(pid) / "fd"))
            soft = int(re.findall(r"^Max open files +(\d+)", limits, re.MULTILINE)[0])
        except (OSError, ValueError, IndexError):
            pass
    text = f"the daemon has {used:,} of {soft:,} files open" if used else f"{soft:,} open files allowed"
    if soft < MIN_DESCRIPTORS or used > soft * MAX_USED_SHARE:
        fix = "set `LimitNOFILE=4096` in the service, or run `ulimit -n 4096` before starting the daemon"
        return Finding(MACHINE, "open files", WARNING, text, fix)
    return Finding(MACHINE, "open files", OK, text)


def check_clock(report: Report, now_ms: int) -> Finding:
    """Return whether the clock is plausible, also compared with the times of the files."""
    if now_ms < EARLIEST_CREDIBLE_MS:
        return Finding(MACHINE, "clock", WRONG, "the clock is years behind", "timedatectl set-ntp true")
    late = [
        f"{agent['agent']}: {path}" for agent in report["agents"] for path in agent.get("from_the_future", ())
    ]
    if late:
        text = f"{count(len(late), 'file')} modified more than a day in the future: {first_paths(late)}"
        fix = "correct the clock, or run `touch` on the files: they count as the newest"
        return Finding(MACHINE, "clock", WARNING, text, fix)
    return Finding(MACHINE, "clock", OK, "plausible; no file is from the future")


SYSTEM_FOLDERS = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
INSTALL_SERVICE = "memctl service install"


def find_systemd_unit(environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the path of the installed systemd unit; None if there is none."""
    _, service = unit_names(daemon_name(environ, lambda: str(home)))
    units = (Path(folder, service) for folder in (units_folder(environ, str(home)), *SYSTEM_FOLDERS))
    return next((unit for unit in units if unit.is_file()), None)


def has_systemd_unit() -> bool:
    """Return whether a systemd service is installed for this user."""
    return find_systemd_unit(os.environ, Path(home_directory())) is not None


def find_launchd_log(home: Path, name: str = USUAL_NAME, platform: str = sys.platform) -> str:
    """Return the path of launchd's log of a daemon; empty if no launch agent is installed."""
    if platform != "darwin" or not _plist_path(home, name).is_file():
        return ""
    from memd.service.install import launchd

    return launchd.log_file(str(home), name)


def _plist_path(home: Path, name: str) -> Path:
    """Return the path of the launch agent's file."""
    from memd.service.install import launchd  # imported here: plistlib is slow, and Linux doesn't need it

    return Path(launchd.plist_path(launchd.agents_folder(str(home)), name))


def check_service(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> list[Finding]:
    """Return the finding on the installed service."""
    if platform == "darwin":
        plist = _plist_path(home, daemon_name(environ, lambda: str(home)))
        found = f"{plist}" if plist.is_file() else "not installed; clients start the daemon when needed"
        return [Finding("service", "launchd", OK, found)]
    unit = find_systemd_unit(environ, home)
    if unit is None:
        return [Finding("service", "systemd", OK, "not installed; clients start the daemon when needed")]
    program = _program_of(unit)
    if program and shutil.which(program) is None:
        found = f"{unit} starts {program}, which does not exist"
        return [Finding("service", "systemd", WRONG, found, f"install memd, then run `{INSTALL_SERVICE}`")]
    wants = Path(units_folder(environ, str(home)))
    enabled = [
        name
        for name, target in ((f"{unit.stem}.socket", "sockets.target"), (unit.name, "default.target"))
        if (wants / f"{target}.wants" / name).is_symlink()
    ]
    if not enabled:
        found = f"{unit} is not enabled: it does not start at login"
        return [Finding("service", "systemd", WARNING, found, INSTALL_SERVICE)]
    return [Finding("service", "systemd", OK, f"{unit}, enabled: {', '.join(enabled)}")]


def _program_of(unit: Path) -> str:
    """Return the program a unit starts; empty if unknown."""
    try:
        line = re.search(r'^ExecStart=[-@:+!]*("[^"]+"|\S+)', load_text(unit), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    program = line[1].strip('"') if line else ""
    return "" if "%" in program else program
