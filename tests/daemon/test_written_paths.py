"""Every file that memd writes is in `WRITTEN_PATHS` and on the page about back-ups."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter
from tests.support.tree import ROOT
from tests.support.written_paths import WRITTEN_PATHS

INDEX: Final = "state/memory/*.memd.sqlite"
PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "socket": ("run/memd.sock",),
    "lock": ("run/memd.sock.lock",),
    "start lock": ("run/memd.sock.start",),
    "start log": ("run/memd.log", "run/memd.log.*"),
    "index": (INDEX,),
    "index log": (f"{INDEX}-wal", f"{INDEX}-shm"),
    "corrupt index": (f"{INDEX}.corrupt-*",),
    "sessions": ("state/memory/*.sessions.json",),
    "copies": ("state/memory/kept/*/*/*.json.gz", "state/memory/kept/*/*/.days.json"),
    "notes": ("state/workspace/memory/*.md", "state/memory/shared/*"),
    "settings": ("memd.toml", "user/.claude/settings.json*", "user/.cursor/mcp.json*"),
    "service": ("user/.config/systemd/user/memd.*",),
    "temporary file": ("*/.memd-*.tmp",),
    "sample": ("user/.local/share/memd/sample/*",),
    "evaluation": ("memd-eval-*",),
    "remote": ("state/memory/remotes/*.git/*",),
    "conflicts": ("state/workspace/memory/conflicts/*",),
    "forgotten": ("state/memory/forgotten.json",),
    "released lines": ("state/memory/memd-trust.json",),
    "trash": ("state/memory/forgotten/*/*",),
    "recalls": ("state/memory/recalls*.jsonl",),
    "accounts": ("state/memory/memd-accounts.json",),
    "model": ("user/.cache/memd/models/*.gguf",),
    "model reference": ("user/.cache/memd/models/*.ref",),
    "unfinished model": ("user/.cache/memd/models/*.part*", "user/.cache/memd/models/.pull.lock"),
}
"""Patterns of each kind of file, relative to a test's folder."""

EXERCISED: Final = {
    "socket", "lock", "start lock", "start log", "index", "index log", "sessions", "copies",
    "notes", "settings", "remote",
}  # fmt: skip
"""Kinds that the test makes; the others need a model, a provider, a crash or a service manager."""


def files_of(home: StateHome) -> set[str]:
    """Return everything below a folder that isn't a folder."""
    return {str(path.relative_to(home.root)) for path in home.root.rglob("*") if not path.is_dir()}


def use_everything(home: StateHome, daemon: DaemonProcess, program: OpencodeWriter) -> set[str]:
    """Make memd write what it can, and return the files that existed meanwhile."""

    def memctl(*arguments: str, autostart: str = "0") -> None:
        done = daemon.memctl(*arguments, environ={"MEMD_AUTOSTART": autostart})
        assert done.returncode == 0, (arguments, done.stderr)

    memctl("status", autostart="1")
    try:
        memctl("sources", "add", "opencode", "--keep")
        memctl("hooks", "install", "claude-code")
        memctl("mcp", "install", "cursor")
        memctl("remote", "add", str(home.root / "bare.git"))
        with daemon.client() as client:
            client.memory_store("Eva likes tea.")
            client.append_note("A day in November.")
            client.flush_done("agent:main:main")
            client.index()
            program.db.execute("DELETE FROM session")
            client.search("cormorant")
        return files_of(home)
    finally:
        memctl("service", "stop")


def test_every_written_file_is_in_the_list(tmp_path: Path) -> None:
    with (
        StateHome(KEYWORD_ONLY) as home,
        OpencodeWriter(home.root / "user/.local/share/opencode/opencode.db", V1) as program,
    ):
        user = home.root / "user"
        subprocess.run(["git", "init", "-q", "--bare", str(home.root / "bare.git")], check=True)
        program.session("ses_1")
        program.v1("ses_1", "user", "The cormorant dives")
        (user / ".claude").mkdir()
        (user / ".claude/settings.json").write_text("{}\n")
        before = files_of(home)
        environ = {
            "HOME": str(user),
            "XDG_CONFIG_HOME": str(user / ".config"),
            "XDG_DATA_HOME": str(user / ".local/share"),
            "XDG_CACHE_HOME": str(user / ".cache"),
            "TMPDIR": str(home.root),
        }
        written = use_everything(home, DaemonProcess(home, environ), program) | files_of(home)
    others = ("bare.git/*", "user/.local/share/opencode/*")
    unlisted, kinds = [], set()
    for path in sorted(written - before):
        names = {name for name, globs in PATTERNS.items() if any(fnmatch(path, each) for each in globs)}
        kinds |= names
        if not names and not any(fnmatch(path, each) for each in others):
            unlisted.append(path)
    assert unlisted == []
    assert EXERCISED - kinds == set()


def test_every_kind_of_file_has_a_pattern() -> None:
    assert set(PATTERNS) == {each.name for each in WRITTEN_PATHS}


def test_page_about_back_ups_names_every_folder() -> None:
    page = (ROOT / "docs" / "upgrade.md").read_text()
    folders = (
        "<state>/memory/kept", "<state>/memory/remotes", "<state>/memory/shared", ".sessions.json",
        "memd-accounts.json", ".corrupt-", "memd/models", "$XDG_RUNTIME_DIR", "memd.toml", "systemd/user/memd.service",
        "memd/sample",
        "memctl hooks uninstall",
    )  # fmt: skip
    assert [each for each in folders if each not in page] == []
    uninstall = page[page.index("## Uninstall") :]
    assert (
        uninstall.index("hooks uninstall")
        < uninstall.index("Stop the daemon")
        < uninstall.index("Remove the programs")
    )
