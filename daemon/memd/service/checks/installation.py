"""Checks of programs, settings, the machine, folders and leftovers.

They write nothing, load no model and use no network. Findings have no values of settings and no keys.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from memd import __version__
from memd.embedding.local.engine import find_engine
from memd.embedding.local.extra import install_hint, local_extra
from memd.embedding.local.model_files import PART_SUFFIX, SOURCE_DIRS, TAG_SUFFIX
from memd.index.database import connect, has_module
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.service.checks.finding import OK, WARNING, WRONG, Finding, first_paths
from memd.settings.agents import AgentConfig, OpenClawHome, load_settings
from memd.settings.paths import daemon_config_file, models_dir
from memd.settings.ram_budget import MB
from memd.settings.schema import DaemonSettings
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import Listing
from memd.system.clock import wall_clock_ms
from memd.system.temp_files import NAME
from memd.system.units import count, size
from memd_client.errors import MemdError

PROC = Path("/proc")


@dataclass(frozen=True)
class InstallationState:
    """The settings, and the notes of each agent that is turned on; `pid` is the running daemon or 0."""

    home: OpenClawHome
    daemon: DaemonSettings
    daemon_problems: Sequence[MemdError]
    toml: Path
    models: Path
    environ: Mapping[str, str]
    listings: Mapping[str, Listing]
    pid: int
    now_ms: int


def load_installation(environ: Mapping[str, str], home_dir: Path, pid: int = 0) -> InstallationState:
    """Return the settings, and the notes that are on the disk now."""
    home, daemon, problems = load_settings(environ, home_dir)
    max_bytes = daemon.max_file_mb * MB
    listings = {
        agent.id: WorkspaceNotes(agent.workspace, agent.settings.extra_paths, max_bytes).find()
        for agent in home.agents.values()
        if agent.settings.enabled
    }
    toml, models = daemon_config_file(environ), models_dir(environ)
    return InstallationState(home, daemon, problems, toml, models, environ, listings, pid, wall_clock_ms())


OLDEST_PYTHON = (3, 11)


def check_programs(installation: InstallationState) -> list[Finding]:
    """Return the findings on Python, memd, SQLite, sqlite-vec and llama.cpp."""
    from memd_client.installation import Installation

    area, packages, home = "installation", Installation(), installation.home
    python = platform.python_version()
    is_new = tuple(map(int, python.split(".")[:2])) >= OLDEST_PYTHON
    found = [
        Finding(
            area, "Python", OK if is_new else WRONG, python, "" if is_new else "install Python 3.11 or later"
        ),
        Finding(area, "memd", OK, __version__),
    ]
    apsw = _version("apsw")
    if _has_fts5():
        found.append(Finding(area, "SQLite", OK, f"{apsw} with FTS5"))
    else:
        found.append(Finding(area, "SQLite", WRONG, f"{apsw} has no FTS5", packages.reinstall("apsw")))
    settings = home.agents[home.default_agent].settings.store.vector
    extension = VectorExtension(settings.extension_path, enabled=settings.enabled)
    extension.load()
    if extension.version:
        found.append(Finding(area, "sqlite-vec", OK, f"{extension.version}, loads"))
    else:
        text = f"not loaded ({extension.error or ''}); vector search works without it"
        fix = packages.reinstall("sqlite-vec") if settings.enabled else ""
        found.append(Finding(area, "sqlite-vec", WARNING if settings.enabled else OK, text, fix))
    engine = find_engine()
    if engine is not None:
        release = f"{engine.package} {_version(engine.package) or 'of an unknown release'}"
        return [*found, Finding(area, "llama.cpp", OK, release)]
    fix = install_hint(local_extra())
    return [*found, Finding(area, "llama.cpp", OK, "not installed; needed for local models only", fix)]


def _has_fts5() -> bool:
    """Return whether SQLite has keyword search."""
    db = connect(":memory:", ())
    try:
        return has_module(db, "fts5")
    finally:
        db.close(True)


def _version(distribution: str) -> str:
    """Return the installed version of a distribution; empty if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


REFUSED_KEYS_FIX = (
    "move them to {toml}, to [search] for all agents or [agents.ID.search] for one, with the same names; "
    "see docs/configuration.md"
)


def check_settings(installation: InstallationState) -> list[Finding]:
    """Return the findings on `openclaw.json` and `memd.toml`."""
    home, toml = installation.home, installation.toml
    of_toml = [error for error in home.problems if error.data.get("file") == str(toml)]
    of_openclaw = [error for error in home.problems if error not in of_toml]
    found: list[Finding] = []
    for name, path, problems in (
        ("openclaw.json", home.config_path, of_openclaw),
        ("memd.toml", toml, [*installation.daemon_problems, *of_toml]),
    ):
        found += [Finding("settings", name, WRONG, each.message, each.hint) for each in problems]
        if not problems:
            text = f"{path}" if path.exists() else f"{path} does not exist; defaults apply"
            found.append(Finding("settings", name, OK, text))
    unknown = [key for key in home.unknown_keys if not key.startswith(f"{toml.name}: ")]
    if unknown:
        text = f"{count(len(unknown), 'unknown key')}: {first_paths(unknown)}"
        fix = "correct or remove them; docs/configuration.md lists all keys"
        found.append(Finding("settings", "unknown keys", WARNING, text, fix))
    refused = list(home.refused_keys)
    if refused:
        text = (
            f"OpenClaw 2026.9 refuses {count(len(refused), 'key')} of openclaw.json: {first_paths(refused)}"
        )
        found.append(Finding("settings", "refused keys", WARNING, text, REFUSED_KEYS_FIX.format(toml=toml)))
    return found


MIN_DESCRIPTORS = 512
"""Enough for a dozen agents and as many clients."""

DAEMON_DESCRIPTOR_LIMIT = 8192
"""Limit of open files that the daemon sets for itself, if the hard limit permits."""

MAX_USED_SHARE = 0.8

WATCHES_PER_FOLDER = 2
"""One for the watcher, and one that searches read directly."""

EARLIEST_CREDIBLE_MS = 1_735_689_600_000
"""1 January 2025: a clock before that is wrong."""

FUTURE_MS = 24 * 3_600_000
"""A file this far in the future means that a clock is wrong."""


def check_watches(installation: InstallationState, proc: Path = PROC) -> list[Finding]:
    """Return whether inotify's limit of watches suffices for all folders."""
    agents = installation.home.agents
    folders = sum(_count_folders(agents[name], disk) for name, disk in installation.listings.items())
    needed = folders * WATCHES_PER_FOLDER
    try:
        limit = int((proc / "sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return []  # not Linux
    text = f"{count(folders, 'folder')} with {WATCHES_PER_FOLDER} watches each; limit for all programs: {limit:,}"
    if needed > limit * MAX_USED_SHARE:
        fix = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, needed * 2)}"
        return [Finding("machine", "file events", WARNING, text, fix)]
    return [Finding("machine", "file events", OK, text)]


def _count_folders(agent: AgentConfig, disk: Listing) -> int:
    """Return the approximate number of folders that are watched for changes."""
    folders = {os.path.dirname(found.location) for found in disk.files.values()}
    return len(folders | {str(agent.workspace), str(agent.workspace.parent)})


def check_descriptors(installation: InstallationState, proc: Path = PROC) -> list[Finding]:
    """Return whether the limit of open files suffices, for the running daemon or for one started here."""
    hard, used = resource.getrlimit(resource.RLIMIT_NOFILE)[1], 0
    soft = DAEMON_DESCRIPTOR_LIMIT if hard == resource.RLIM_INFINITY else min(DAEMON_DESCRIPTOR_LIMIT, hard)
    if installation.pid:
        process = proc / str(installation.pid)
        try:
            limits = (process / "limits").read_text()
            used = len(os.listdir(process / "fd"))
            soft = int(re.findall(r"^Max open files +(\d+)", limits, re.MULTILINE)[0])
        except (OSError, ValueError, IndexError):
            pass
    text = f"the daemon has {used:,} of {soft:,} files open" if used else f"{soft:,} open files allowed"
    if soft < MIN_DESCRIPTORS or used > soft * MAX_USED_SHARE:
        fix = "set `LimitNOFILE=4096` in the service, or run `ulimit -n 4096` before starting the daemon"
        return [Finding("machine", "open files", WARNING, text, fix)]
    return [Finding("machine", "open files", OK, text)]


def check_clock(installation: InstallationState) -> list[Finding]:
    """Return whether the clock is plausible, also compared with the times of the files."""
    area, now_ms = "machine", installation.now_ms
    if now_ms < EARLIEST_CREDIBLE_MS:
        return [Finding(area, "clock", WRONG, "the clock is years behind", "timedatectl set-ntp true")]
    latest_ns = (now_ms + FUTURE_MS) * 1_000_000
    late = [
        f"{agent}: {path}"
        for agent, disk in installation.listings.items()
        for path, found in sorted(disk.files.items())
        if found.mtime_ns > latest_ns
    ]
    if late:
        text = f"{count(len(late), 'file')} modified more than a day in the future: {first_paths(late)}"
        fix = "correct the clock, or run `touch` on the files: they count as the newest"
        return [Finding(area, "clock", WARNING, text, fix)]
    return [Finding(area, "clock", OK, "plausible; no file is from the future")]


SCARCE_BYTES = 100_000_000
"""Below this free space, writing indexes is about to fail."""

LOW_BYTES = 512_000_000
"""Below this free space, a new index or a model download may not fit."""


def check_folders(installation: InstallationState) -> list[Finding]:
    """Return the findings on the folders that memd writes, and their free space."""
    folders = {installation.home.state_dir: "state", installation.models: "models"}
    agents = installation.home.agents.values()
    for agent in agents:
        if agent.settings.enabled:
            folders.setdefault(agent.index_path.parent, "indexes")
    files = (
        agent.index_path.with_name(agent.index_path.name + end) for agent in agents for end in ("", "-wal")
    )
    index_bytes = sum(map(_bytes_at, files))
    found: list[Finding] = []
    devices: set[int] = set()
    for path, name in folders.items():
        existing = path
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        found.append(_folder(path, name, existing))
        device = existing.stat().st_dev
        if device not in devices:
            devices.add(device)
            disk = os.statvfs(existing)
            found.append(_free_space(path, disk.f_bavail * disk.f_frsize, index_bytes))
    return found


def _folder(path: Path, name: str, existing: Path) -> Finding:
    """Return the finding on a folder, of which a part exists."""
    quoted = shlex.quote(str(path))
    if not existing.is_dir():
        return Finding("disk", name, WRONG, f"{path} is a file, not a folder", f"ls -ld {quoted}")
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding("disk", name, WRONG, f"{path} is not writable", f"chmod u+rwx {quoted}")
    return Finding("disk", name, OK, f"{path}" if existing == path else f"{path} will be created when needed")


def _free_space(path: Path, free: int, index_bytes: int) -> Finding:
    """Return the finding on a disk's free space: a rebuilt index needs as much as the old one."""
    text = f"{size(free)} free in {path}; indexes use {size(index_bytes)}"
    if free >= max(LOW_BYTES, index_bytes):
        return Finding("disk", "free space", OK, text)
    fix = f"free disk space; see `df -h {shlex.quote(str(path))}`"
    return Finding("disk", "free space", WRONG if free < SCARCE_BYTES else WARNING, text, fix)


LEFTOVER_FIXES = {
    "damaged index": "run `rm {path}`: the index was rebuilt from your Markdown files",
    "unfinished adoption": "no action needed: the next start removes it",
    "unfinished download": "run `memctl model pull` to continue it, or `rm {path}` to remove it",
    "unfinished model": "no action needed: the next `memctl model pull` removes it",
}


def check_leftovers(installation: InstallationState) -> list[Finding]:
    """Return the findings on leftover files next to indexes and models."""
    agents = installation.home.agents.values()
    caches = [agent.settings.local.model_cache_dir for agent in agents]
    models = {installation.models, *(Path(each).expanduser() for each in caches if each)}
    leftovers = [
        *_leftovers({agent.index_path.parent for agent in agents}, _index_leftover),
        *_leftovers(models, _model_leftover),
    ]
    if not leftovers:
        return [Finding("disk", "leftovers", OK, "none")]
    return [
        Finding(
            "disk",
            "leftovers",
            WARNING,
            f"{kind}, {size(_bytes_at(path))}: {path}",
            LEFTOVER_FIXES[kind].format(path=shlex.quote(str(path))),
        )
        for path, kind in sorted(leftovers)
    ]


def _index_leftover(name: str) -> str:
    """Return the kind of leftover of a file next to an index; empty for none."""
    if ".sqlite.corrupt-" in name:
        return "damaged index"
    return "unfinished adoption" if NAME.fullmatch(name) else ""


def _model_leftover(name: str) -> str:
    """Return the kind of leftover of a file next to a model; empty for none."""
    if name.endswith(PART_SUFFIX) and not name.endswith(TAG_SUFFIX):
        return "unfinished download"
    is_unfinished = name in SOURCE_DIRS.values() or (name[0] == "." and name.endswith(".tmp"))
    return "unfinished model" if is_unfinished else ""


def _leftovers(folders: Iterable[Path], kind_of: Callable[[str], str]) -> Iterator[tuple[Path, str]]:
    """Yield the leftovers in folders and their kinds; none in a folder that can't be listed."""
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        yield from ((folder / name, kind) for name in names if (kind := kind_of(name)))


def _bytes_at(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder; 0 if it doesn't exist."""
    try:
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    except OSError:
        return 0


CHECKS: Final[Sequence[Callable[[InstallationState], list[Finding]]]] = (
    check_programs,
    check_settings,
    check_watches,
    check_descriptors,
    check_clock,
    check_folders,
    check_leftovers,
)
"""Checks that don't depend on an agent, in the order in which their findings are shown."""
