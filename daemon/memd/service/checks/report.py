"""The report on an installation for `memctl doctor`, made by the daemon or by a process of its own.

`python -m memd.service.checks.report settings [PID]` prints one JSON object with the findings on programs, settings,
files and models; `indexes` checks the integrity of every index.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from memd import __version__
from memd.service.checks.indexes import check_indexes
from memd.service.checks.installation import CHECKS, load_installation
from memd.service.checks.workspaces import check_agent, check_notes
from memd.system.log import configure_log
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

Report = dict[str, Any]


def report(environ: Mapping[str, str], home_dir: Path, pid: int = 0) -> Report:
    """Return the findings on programs, settings, files and models; `pid` is the running daemon or 0. Reads the disk."""
    installation = load_installation(environ, home_dir, pid)
    return {
        "version": __version__,
        "findings": [asdict(finding) for check in CHECKS for finding in check(installation)],
        "daemon_config": {
            "socket": installation.daemon.socket or "",
            "unknown_keys": [str(error.data["key"]) for error in installation.home.typos],
        },
        "agents": [
            {
                "agent": agent.id,
                "provider": agent.settings.provider,
                # The daemon's status replaces these while it runs.
                "settings": [asdict(finding) for finding in check_agent(installation, agent)],
                "notes": [asdict(finding) for finding in check_notes(installation, agent)],
            }
            for agent in installation.home.agents.values()
        ],
    }


def main(arguments: list[str]) -> int:
    """Print a report; return the exit code."""
    configure_log("critical", sys.stderr)  # log events would be noise: problems are in the report
    what, pid = arguments[0], int(arguments[1]) if arguments[1:] else 0
    try:
        home = os.environ["HOME"] = home_directory()
        made: Report
        if what == "indexes":
            made = {"findings": [asdict(each) for each in check_indexes(os.environ, Path(home))]}
        else:
            made = report(os.environ, Path(home), pid)
    except MemdError as error:  # `memctl doctor` shows it
        sys.stderr.write(f"{error.message}. {error.hint}\n")
        return 1
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
