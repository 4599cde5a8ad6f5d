"""The check of the integrity of every index, which reads them whole."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from memd.index.database import map_errors
from memd.index.integrity.file_check import FileKind, inspect
from memd.index.integrity.takeover import is_openclaw_file
from memd.index.schema import VERSION
from memd.service.checks.finding import OK, WRONG, Finding
from memd.settings.agents import load_settings
from memd.settings.search import is_usual_index
from memd.system.sqlite import connect_read_only
from memd_client.errors import MemdError

STATES = {
    "missing": (OK, "will be created at the first start", ""),
    "sound": (OK, "is sound", ""),
    "foreign": (OK, "was written by OpenClaw; memd reuses its vectors", ""),
    "refused": (WRONG, "is not an index of memd; memd does not change it", "set store.path to another file"),
    "index_corrupt": (WRONG, "is damaged", "start the daemon: it quarantines and rebuilds the index"),
    "index_newer": (WRONG, "was written by a newer release", "upgrade memd, or run `mv {path} {path}.newer`"),
    "index_io": (WRONG, "cannot be read", "ls -l {path}"),
}
"""State of an index file: state of the finding, text and fix."""

UNKNOWN_STATE = (WRONG, "cannot be used", "memctl logs --level warning")


def check_indexes(environ: Mapping[str, str], home_dir: Path) -> list[Finding]:
    """Return the finding on the index of every agent that is turned on.

    Only valid while no daemon has them open: a write in progress looks like damage.
    """
    home, _, _ = load_settings(environ, home_dir)
    found = []
    for agent in home.agents.values():
        if agent.settings.enabled:
            path = agent.index_path
            code, detail = state_of_index(path, is_own_path=is_usual_index(path, agent.id, home.state_dir))
            state, text, fix = STATES.get(code, UNKNOWN_STATE)
            text = f"{path} {text}" + (f" ({detail})" if detail else "")
            fix = fix.format(path=shlex.quote(str(path)))
            found.append(Finding(f"agent {agent.id}", "index", state, text, fix))
    return found


def state_of_index(path: Path, *, is_own_path: bool = False) -> tuple[str, str]:
    """Return the state of an index after reading all of it, with a detail."""
    try:
        with map_errors(path):
            found = inspect(path)
            if found.kind is not FileKind.OURS:
                return _state_of_other(path, found.kind, is_own_path), ""
            db = connect_read_only(path)
            try:
                release = int(db.pragma("user_version"))
                verdict = str(db.pragma("quick_check", 1))
            finally:
                db.close(True)
    except MemdError as error:
        return error.wire_code, error.message
    if verdict != "ok":
        return "index_corrupt", verdict
    if release > VERSION:
        return "index_newer", f"schema version {release}; this release supports {VERSION}"
    return "sound", ""


def _state_of_other(path: Path, kind: FileKind, is_own_path: bool) -> str:
    """Return the state of a file that is not an index of memd."""
    if kind is FileKind.MISSING or (is_own_path and kind is FileKind.EMPTY):
        return "missing"
    if is_own_path and kind is FileKind.OTHER:
        return "index_corrupt"
    return "foreign" if kind is FileKind.UNMARKED and is_openclaw_file(path) else "refused"
