"""Every path the daemon writes, and who cleans it up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from memd_client.discovery import require_utf8

ACCOUNTS_FILE = "memd-accounts.json"
"""Beside the indexes: what the accounts at providers were asked for, and which of them are paused."""


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """One kind of file or folder that can be left behind.

    `name` is a stable short name, `where` says in words where it is, `writer` the module that makes it, and
    `cleaner` who removes it or what an old one means.
    """

    name: str
    where: str
    writer: str
    cleaner: str


WRITTEN_PATHS: tuple[WrittenPath, ...] = (
    WrittenPath(
        "socket",
        "memd.sock in the runtime directory, or MEMD_SOCKET",
        "memd.app, or the service manager",
        "the daemon when it stops; a stale one is replaced by the next daemon that holds the lock",
    ),
    WrittenPath(
        "lock",
        "beside the socket",
        "memd.service.lock",
        "nobody: the lock ends with the process that holds it, the file may stay",
    ),
    WrittenPath(
        "start turn",
        "memd.sock.start beside the socket",
        "memd_client.discovery",
        "nobody: it says whose turn it is to start the daemon, as long as that process holds its lock",
    ),
    WrittenPath(
        "start log",
        "memd.log beside the socket, .1, .2 and a passing .new, of a daemon that a client started",
        "memd_client.discovery, memd.service.logfile",
        "the daemon: three files of 5 MB",
    ),
    WrittenPath(
        "index",
        "<state>/memory/<agentId>.memd.sqlite, or store.path",
        "memd.index.connection",
        "the user: it comes back from the Markdown",
    ),
    WrittenPath(
        "index log",
        "-wal and -shm beside the index",
        "memd.index.connection",
        "SQLite when the index is closed; after a crash, when it is opened again",
    ),
    WrittenPath(
        "corrupt index",
        ".corrupt-<time> beside the index",
        "memd.index.connection",
        "the next one that is set aside: the newest is kept, and a larger one",
    ),
    WrittenPath(
        "temporary file",
        ".memd-<16 hex digits>.tmp beside the file it becomes: state, index, note, model, settings of MCP clients",
        "memd.system.temp_files, memd.lifecycle.files.writing",
        "its writer; after a kill the next start of the daemon, or the next write beside settings of MCP clients",
    ),
    WrittenPath(
        "sample",
        "the sample memory, in memd's data folder",
        "memd.sample, scripts/run",
        "the user; `memctl sample` makes it again",
    ),
    WrittenPath(
        "accounts",
        "<state>/memory/memd-accounts.json",
        "memd.embedding.remote.accounts",
        "the user: without it providers are asked once more, and the day's tokens count from 0",
    ),
    WrittenPath(
        "model",
        "GGUF files in models_dir()",
        "memd.embedding.model",
        "the user: it is downloaded or converted again",
    ),
    WrittenPath(
        "model reference",
        "<file>.ref beside a downloaded model: what it was pulled by",
        "memd.embedding.model",
        "`memctl model remove`; without it the file's name is shown",
    ),
    WrittenPath(
        "unfinished model",
        "half a download or conversion in models_dir()",
        "memd.embedding.model",
        "the next attempt: a download goes on where it stopped, a conversion starts anew",
    ),
)
"""The whole list. A path that is written and not in here is a defect."""


def models_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for models: `MEMD_MODEL_DIR`, else `models` in the user's cache folder."""
    named = _named("MEMD_MODEL_DIR", environ)
    return named or platformdirs.user_cache_path("memd", appauthor=False) / "models"


def daemon_config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return where `memd.toml` is: `MEMD_CONFIG`, else the user's config folder. It is only read."""
    named = _named("MEMD_CONFIG", environ)
    return named or platformdirs.user_config_path("memd", appauthor=False) / "memd.toml"


def _named(variable: str, environ: Mapping[str, str] | None) -> Path | None:
    """Return the absolute path a variable holds, `~` expanded; None where it is unset or blank."""
    text = (os.environ if environ is None else environ).get(variable, "").strip()
    return Path(require_utf8(os.path.abspath(os.path.expanduser(text)), variable)) if text else None
