"""The report on an installation for `memctl doctor`, made without the daemon.

`python -m memd.service.check settings` prints one JSON object about programs, settings, files and models;
`indexes` checks the integrity of every index. It writes nothing, loads no model and uses no network. The report has
no values of settings and no keys.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memd import __version__
from memd.embedding.choose.choose import plan_provider
from memd.embedding.choose.local_resolver import LocalResolver
from memd.embedding.choose.remote_resolver import RemoteResolver
from memd.embedding.local.extra import is_extra_installed
from memd.embedding.local.model_files import PART_SUFFIX, SOURCE_DIR, TAG_SUFFIX
from memd.embedding.local.owner import ModelOwner
from memd.index.database import connect, has_module, map_errors
from memd.index.integrity.file_check import FileKind, inspect
from memd.index.integrity.takeover import is_openclaw_file
from memd.index.schema import VERSION
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.programs.catalog import Places
from memd.service.imported_notes import describe_imported
from memd.settings.agents import AgentConfig, OpenClawHome, load_settings
from memd.settings.paths import daemon_config_file, models_dir
from memd.settings.ram_budget import MB
from memd.settings.schema import DaemonSettings
from memd.settings.search import is_usual_index
from memd.sources.imported import find_imported
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import Listing
from memd.system.clock import wall_clock_ms
from memd.system.sqlite import connect_read_only
from memd.system.temp_files import NAME
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

Report = dict[str, Any]

FUTURE_MS = 24 * 3_600_000
"""A file this far in the future means that a clock is wrong."""


def report(environ: Mapping[str, str], home_dir: Path) -> Report:
    """Return the report on programs, settings, files and models. Reads the disk."""
    toml = daemon_config_file(environ)
    home, daemon, daemon_problems = load_settings(environ, home_dir)
    models = models_dir(environ)
    of_toml = [error for error in home.problems if error.data.get("file") == str(toml)]
    return {
        "version": __version__,
        "programs": _programs(home),
        "config": {
            "path": str(home.config_path),
            "exists": home.config_path.exists(),
            "readable": home.readable,
            "problems": [describe_error(error) for error in home.problems if error not in of_toml],
            "unknown_keys": [key for key in home.unknown_keys if not key.startswith(f"{toml.name}: ")],
            "refused_keys": list(home.refused_keys),
        },
        "daemon_config": {
            "path": str(toml),
            "exists": toml.exists(),
            "socket": daemon.socket or "",
            "problems": [describe_error(error) for error in (*daemon_problems, *of_toml)],
            "unknown_keys": [str(error.data["key"]) for error in home.typos],
        },
        "folders": _folders(home, models),
        "agents": describe_agents(home, daemon, models, environ),
        "leftovers": find_leftovers(home, models),
    }


def _programs(home: OpenClawHome) -> Report:
    """Return the versions of Python, APSW, sqlite-vec and llama.cpp, and whether they work."""
    settings = home.agents[home.default_agent].settings.store.vector
    extension = VectorExtension(settings.extension_path, enabled=settings.enabled)
    extension.load()
    db = connect(":memory:", ())
    try:
        has_fts5 = has_module(db, "fts5")
    finally:
        db.close(True)
    llama = (_version("llama-cpp-python") or "unknown") if is_extra_installed() else ""
    return {
        "python": platform.python_version(),
        "apsw": _version("apsw"),
        "fts5": has_fts5,
        "sqlite_vec": extension.version or "",
        "sqlite_vec_problem": extension.error or "",
        "sqlite_vec_wanted": settings.enabled,
        "llama_cpp": llama,
        "fixes": {} if has_fts5 and extension.version and llama else _fixes(),
    }


def _fixes() -> dict[str, str]:
    """Return the commands that install what is missing or broken, by package."""
    from memd_client.installation import Installation

    here = Installation()
    return {
        "apsw": here.reinstall("apsw"),
        "sqlite-vec": here.reinstall("sqlite-vec"),
        "llama-cpp-python": here.add_extra("local"),
    }


def _version(distribution: str) -> str:
    """Return the installed version of a distribution; empty if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _folders(home: OpenClawHome, models: Path) -> list[Report]:
    """Return the folders that memd writes: whether they are writable, and their free space."""
    wanted = {home.state_dir: "state", models: "models"}
    for agent in home.agents.values():
        if agent.settings.enabled:
            wanted.setdefault(agent.index_path.parent, "indexes")
    rows = []
    for path, name in wanted.items():
        existing = path
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        disk = os.statvfs(existing)
        rows.append(
            {
                "name": name,
                "path": str(path),
                "exists": existing == path,
                "is_folder": existing.is_dir(),
                "writable": os.access(existing, os.W_OK | os.X_OK),
                "free_bytes": disk.f_bavail * disk.f_frsize,
                "device": existing.stat().st_dev,
            }
        )
    return rows


def describe_error(error: MemdError) -> Report:
    """Return an error as a row of a report."""
    facts: Report = {
        name: error.data[name] for name in ("file", "key", "line", "column") if name in error.data
    }
    return {"code": error.wire_code, "message": error.message, "hint": error.hint, **facts}


def describe_agents(
    home: OpenClawHome, daemon: DaemonSettings, models: Path, environ: Mapping[str, str]
) -> list[Report]:
    """Return a row for each agent: its workspace, its files, and its embedding provider. Reads the disk."""
    return [_describe_agent(agent, home, daemon, models, environ) for agent in home.agents.values()]


def _describe_agent(
    agent: AgentConfig, home: OpenClawHome, daemon: DaemonSettings, models: Path, environ: Mapping[str, str]
) -> Report:
    """Return one agent's row."""
    row: Report = {
        "agent": agent.id,
        "enabled": agent.settings.enabled,
        "workspace": str(agent.workspace),
        "index": str(agent.index_path),
        "index_bytes": sum(
            _size(agent.index_path.with_name(agent.index_path.name + end)) for end in ("", "-wal")
        ),
        "problems": [describe_error(error) for error in agent.problems],
    }
    if not agent.settings.enabled:
        return row
    max_bytes = daemon.max_file_mb * MB
    disk = WorkspaceNotes(agent.workspace, agent.settings.extra_paths, max_bytes).find()
    problem = _provider_problem(agent, home, daemon, models, environ)
    latest_ns = (wall_clock_ms() + FUTURE_MS) * 1_000_000
    return row | {
        "workspace_missing": disk.is_missing,
        "files": len(disk.files),
        "bytes": sum(found.size for found in disk.files.values()),
        "folders": _count_folders(agent, disk),
        "skipped": [{"path": each.path, "reason": each.reason} for each in disk.skipped + disk.partial],
        "unreadable": sorted(
            path for path, found in disk.files.items() if not os.access(found.location, os.R_OK)
        ),
        "from_the_future": sorted(path for path, found in disk.files.items() if found.mtime_ns > latest_ns),
        "imported": describe_imported(
            find_imported(disk.files, max_bytes), agent.sources, Places(Path.home(), environ, sys.platform)
        ),
        "provider": agent.settings.provider,
        "provider_problem": None if problem is None else describe_error(problem),
    }


def _count_folders(agent: AgentConfig, disk: Listing) -> int:
    """Return the approximate number of folders that are watched for changes."""
    folders = {os.path.dirname(found.location) for found in disk.files.values()}
    return len(folders | {str(agent.workspace), str(agent.workspace.parent)})


def _provider_problem(
    agent: AgentConfig, home: OpenClawHome, daemon: DaemonSettings, models: Path, environ: Mapping[str, str]
) -> MemdError | None:
    """Return why the configured provider can't be used; None if it can, as far as known without a request."""
    settings = agent.settings
    local = LocalResolver(settings, ModelOwner(), models, is_extra_installed)
    remote = RemoteResolver(
        settings,
        agent.id,
        entries=home.providers,
        state_dir=home.state_dir,
        environ=environ,
        keep_alive_s=int(daemon.model_keep_alive_minutes * 60),
    )
    try:
        if settings.provider != "none":
            plan_provider(settings.provider, local, remote)
    except MemdError as error:
        return error
    return None


def check_index(path: Path, *, is_own_path: bool = False) -> Report:
    """Check the integrity of an index by reading all of it; return its state."""
    try:
        with map_errors(path):
            found = inspect(path)
            if found.kind is not FileKind.OURS:
                state = _state_of_other(path, found.kind, is_own_path)
                return {"path": str(path), "state": state, "detail": ""}
            db = connect_read_only(path)
            try:
                release = int(db.pragma("user_version"))
                verdict = str(db.pragma("quick_check", 1))
            finally:
                db.close(True)
    except MemdError as error:
        return {"path": str(path), "state": error.wire_code, "detail": error.message}
    if verdict != "ok":
        return {"path": str(path), "state": "index_corrupt", "detail": verdict}
    if release > VERSION:
        return {
            "path": str(path),
            "state": "index_newer",
            "detail": f"schema version {release}; this release supports {VERSION}",
        }
    return {"path": str(path), "state": "sound", "detail": ""}


def _state_of_other(path: Path, kind: FileKind, is_own_path: bool) -> str:
    """Return the state of a file that is not an index of memd."""
    if kind is FileKind.MISSING or (is_own_path and kind is FileKind.EMPTY):
        return "missing"
    if is_own_path and kind is FileKind.OTHER:
        return "index_corrupt"
    return "foreign" if kind is FileKind.UNMARKED and is_openclaw_file(path) else "refused"


def find_leftovers(home: OpenClawHome, models: Path) -> list[Report]:
    """Return leftover files next to indexes and models: kind, path and size."""
    folders = {agent.index_path.parent for agent in home.agents.values()}
    caches = {models} | {
        Path(own).expanduser()
        for agent in home.agents.values()
        if (own := agent.settings.local.model_cache_dir)
    }
    found = [
        *(row for folder in folders for row in _kinds(folder, _index_leftover)),
        *(row for folder in caches for row in _kinds(folder, _model_leftover)),
    ]
    return sorted(found, key=lambda row: str(row["path"]))


def _index_leftover(name: str) -> str:
    """Return the kind of leftover of a file next to an index; empty for none."""
    if ".sqlite.corrupt-" in name:
        return "damaged index"
    return "unfinished adoption" if name.endswith(".adopting") or NAME.fullmatch(name) else ""


def _model_leftover(name: str) -> str:
    """Return the kind of leftover of a file next to a model; empty for none."""
    if name.endswith(PART_SUFFIX) and not name.endswith(TAG_SUFFIX):
        return "unfinished download"
    return "unfinished model" if name == SOURCE_DIR or (name[0] == "." and name.endswith(".tmp")) else ""


def _kinds(folder: Path, kind_of: Callable[[str], str]) -> Iterator[Report]:
    """Yield the leftovers in a folder; none if it can't be listed."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if kind := kind_of(name):
            yield {"kind": kind, "path": str(folder / name), "bytes": _size(folder / name)}


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder; 0 if it doesn't exist."""
    try:
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def report_indexes(environ: Mapping[str, str], home_dir: Path) -> Report:
    """Return the state of every index after an integrity check, which reads them whole.

    Only valid while no daemon has them open: a write in progress looks like damage.
    """
    home, _, _ = load_settings(environ, home_dir)
    agents = [agent for agent in home.agents.values() if agent.settings.enabled]

    def own(agent: AgentConfig) -> bool:
        return is_usual_index(agent.index_path, agent.id, home.state_dir)

    return {
        "indexes": [
            {"agent": agent.id, **check_index(agent.index_path, is_own_path=own(agent))} for agent in agents
        ]
    }


def main(arguments: list[str]) -> int:
    """Print a report; return the exit code."""
    import logging

    import structlog

    # Log events would be noise: problems are in the report.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    make = report_indexes if arguments == ["indexes"] else report
    try:
        os.environ["HOME"] = home_directory()
        made = make(os.environ, Path(os.environ["HOME"]))
    except MemdError as error:  # `memctl doctor` shows it
        sys.stderr.write(f"{error.message}. {error.hint}\n")
        return 1
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
