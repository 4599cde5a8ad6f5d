"""Every path that the daemon writes, and its cleanup."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """One kind of file or folder that memd writes.

    `name` is a stable short name, `location` its path in words, `writer` the module that writes it, and `cleaner` what
    removes it.
    """

    name: str
    location: str
    writer: str
    cleaner: str


WRITTEN_PATHS: tuple[WrittenPath, ...] = (
    WrittenPath(
        "socket",
        "memd.sock in the runtime directory, memd-<number>.sock for another state directory, or MEMD_SOCKET",
        "memd.app, or the service manager",
        "the daemon when it stops; the next daemon replaces a stale one",
    ),
    WrittenPath(
        "lock",
        "next to the socket",
        "memd.service.lock",
        "not removed: the system releases the lock when the process ends",
    ),
    WrittenPath(
        "start lock",
        ".start next to the socket",
        "memd_client.discovery",
        "not removed: the process that locks it may start the daemon",
    ),
    WrittenPath(
        "start log",
        ".log instead of .sock next to the socket, .1, .2 and a temporary .new, of a daemon that a client started",
        "memd_client.discovery, memd.service.logfile",
        "the daemon, which keeps three files of 5 MB",
    ),
    WrittenPath(
        "index",
        "<state>/memory/<agentId>.memd.sqlite, or store.path",
        "memd.index.connection",
        "the user: memd rebuilds it from the Markdown files",
    ),
    WrittenPath(
        "index log",
        "-wal and -shm next to the index",
        "memd.index.connection",
        "SQLite when the index is closed; after a crash, when it is next opened",
    ),
    WrittenPath(
        "corrupt index",
        ".corrupt-<time> next to the index",
        "memd.index.connection",
        "the next quarantined index; after a reset the daemon, once it has copied the vectors",
    ),
    WrittenPath(
        "sessions",
        "<agentId>.sessions.json next to the index: sessions that were flushed",
        "memd.lifecycle.flush",
        "the user: sessions are flushed a second time",
    ),
    WrittenPath(
        "copies",
        "<state>/memory/kept/<agentId>/<source>: copies of conversations that their program may delete",
        "memd.sources.retained",
        "`memctl sources delete-copies`, or the limits of the source; they exist nowhere else",
    ),
    WrittenPath(
        "notes",
        "facts, daily notes and session notes in memory/ of a workspace; <state>/memory/shared is one",
        "memd.lifecycle",
        "the user: they exist nowhere else",
    ),
    WrittenPath(
        "settings",
        "memd.toml, and settings of programs with memd's hooks or MCP server, with dated .bak copies of the latter",
        "memd.cli, memd.system.settings_change",
        "`memctl sources remove`, `memctl hooks uninstall`, `memctl mcp install --remove`; copies: the user",
    ),
    WrittenPath(
        "service",
        "unit or property list of the service manager, and on macOS its log",
        "memd.service.install",
        "`memctl service uninstall`; the log: the user",
    ),
    WrittenPath(
        "temporary file",
        ".memd-<16 hex digits>.tmp next to its target: state, index, note, model, settings of MCP clients",
        "memd.system.temp_files, memd.lifecycle.files.writing",
        "its writer; after a kill the next start of the daemon, or the next write to settings of MCP clients",
    ),
    WrittenPath(
        "sample",
        "the sample memory, in memd's data folder",
        "memd.sample, scripts/run",
        "the user; `memctl sample` creates it again",
    ),
    WrittenPath(
        "evaluation",
        "memd-eval-<8 characters> in the folder for temporary files: index and settings of `memctl eval --compare`",
        "memd.evaluation.comparison",
        "`memctl eval` when it ends, also after Ctrl-C; after a kill the user",
    ),
    WrittenPath(
        "remote",
        "<state>/memory/remotes/<agentId>.git: the git repository of an agent with a remote",
        "memd.replication",
        "`memctl remote remove`",
    ),
    WrittenPath(
        "conflicts",
        "memory/conflicts/<date>-<machine>-<file> in the workspace of an agent with a remote",
        "memd.replication",
        "`memctl remote resolve`",
    ),
    WrittenPath(
        "forgotten",
        "<state>/memory/forgotten.json: salted hashes of forgotten texts, and receipts",
        "memd.sources.forgotten",
        "not removed: without it forgotten texts come back",
    ),
    WrittenPath(
        "trash",
        "<state>/memory/forgotten/<receipt>: what notes contained before `memctl forget`, with `forget_trash_days`",
        "memd.forget.places",
        "the daemon after the days that are set, or `memctl forget --undo`",
    ),
    WrittenPath(
        "recalls",
        "<state>/memory/recalls.jsonl and recalls.older.jsonl: the log of recalls",
        "memd.lifecycle.recalls.log",
        "`memctl usage clear`; memd at 10 MB, and with `recall_log = false` at the next start",
    ),
    WrittenPath(
        "released lines",
        "<state>/memory/memd-trust.json: hashes of the lines that the user released",
        "memd.trust.allowed",
        "the user: without it the lines are withheld again",
    ),
    WrittenPath(
        "accounts",
        "<state>/memory/memd-accounts.json",
        "memd.embedding.remote.accounts",
        "the user: without it pauses end, and the day's tokens count from 0",
    ),
    WrittenPath(
        "model",
        "GGUF files in models_dir()",
        "memd.embedding.model",
        "the user: memd downloads or converts it again",
    ),
    WrittenPath(
        "model reference",
        "<file>.ref next to a downloaded model: the reference it was pulled by",
        "memd.embedding.model",
        "`memctl model remove`; without it the file's name is shown",
    ),
    WrittenPath(
        "unfinished model",
        "an incomplete download or conversion in models_dir(), and the lock .pull.lock",
        "memd.embedding.model",
        "the next attempt, which resumes a download and repeats a conversion",
    ),
)
"""The complete list; a written path that is missing here is a defect."""
