"""What the engine alone can tell of an installation without a daemon; `memctl doctor` runs it as a program.

`python -m memd.service.check settings` prints one JSON object about programs, settings, files and models; with
`indexes` it reads every index from end to end. Nothing is written, loaded as a model, or sent anywhere. No value of
a setting and no key is ever in it.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memd import __version__
from memd.embedding.local.extra import is_extra_installed
from memd.index.database import connect, has_module
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.service.check_agents import check_index, describe_agents, describe_error, find_leftovers
from memd.settings.agents import AgentConfig, OpenClawHome, load_settings
from memd.settings.paths import daemon_config_file, models_dir
from memd.settings.search import is_usual_index
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

Report = dict[str, Any]


def report(environ: Mapping[str, str], home_dir: Path) -> Report:
    """Return what there is to say of programs, settings, files and models.

    Blocks for as long as the disk does.
    """
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
            "unknown_keys": list(home.unknown_keys),
            "refused_keys": list(home.refused_keys),
        },
        "daemon_config": {
            "path": str(toml),
            "exists": toml.exists(),
            "socket": daemon.socket or "",
            "problems": [describe_error(error) for error in (*daemon_problems, *of_toml)],
        },
        "folders": _folders(home, models),
        "agents": describe_agents(home, daemon, models, environ),
        "leftovers": find_leftovers(home, models),
    }


def _programs(home: OpenClawHome) -> Report:
    """Return the versions of what memd stands on, and whether it works."""
    settings = home.agents[home.default_agent].settings.store.vector
    extension = VectorExtension(settings.extension_path, enabled=settings.enabled)
    extension.load()
    db = connect(":memory:", ())
    try:
        has_words = has_module(db, "fts5")
    finally:
        db.close(True)
    llama = (_version("llama-cpp-python") or "unknown") if is_extra_installed() else ""
    return {
        "python": platform.python_version(),
        "apsw": _version("apsw"),
        "fts5": has_words,
        "sqlite_vec": extension.version or "",
        "sqlite_vec_problem": extension.error or "",
        "sqlite_vec_wanted": settings.enabled,
        "llama_cpp": llama,
        "fixes": {} if has_words and extension.version and llama else _fixes(),
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
    """Return the release of what is installed; empty where it isn't."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _folders(home: OpenClawHome, models: Path) -> list[Report]:
    """Return the folders that are written to: whether that can be done, and how much room there is."""
    wanted = {home.state_dir: "state", models: "models"}
    for agent in home.agents.values():
        if agent.settings.enabled:
            wanted.setdefault(agent.index_path.parent, "indexes")
    rows = []
    for path, name in wanted.items():
        there = path
        while not there.exists() and there != there.parent:
            there = there.parent
        room = os.statvfs(there)
        rows.append(
            {
                "name": name,
                "path": str(path),
                "exists": there == path,
                "is_folder": there.is_dir(),
                "writable": os.access(there, os.W_OK | os.X_OK),
                "free_bytes": room.f_bavail * room.f_frsize,
                "device": there.stat().st_dev,
            }
        )
    return rows


def report_indexes(environ: Mapping[str, str], home_dir: Path) -> Report:
    """Return for every index whether it is sound; reads each from end to end.

    Only where no daemon has them open: what a writer is in the midst of is no fault.
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

    # What is noted on the way stands in the report, or is nobody's business here.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    make = report_indexes if arguments == ["indexes"] else report
    try:
        os.environ["HOME"] = home_directory()
        told = make(os.environ, Path(os.environ["HOME"]))
    except MemdError as error:  # `memctl doctor` shows it
        sys.stderr.write(f"{error.message}. {error.hint}\n")
        return 1
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
