"""Runs the commands in `console` blocks of pages and writes their output below them; `scripts/session_doc` calls it.

A line `$ COMMAND` of a block is run, all of them in one home directory with the sample memory and the small model.
Blocks marked `console agents` are run in a home with conversations of three programs instead. The first line of a block
marked `console clone` is run in a fresh copy of the repository, with the package cache of this user. A block is
unchanged if only volatile values differ: times, sizes, scores, process ids, lines of progress.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from memd.embedding.local.reference import parse_reference
from memd.settings.paths import models_dir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.transcript_programs.plain import claude_code, codex, gemini

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "getting-started.md")

BLOCK = re.compile(r"^```console(?: (?P<home>clone|agents))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)

PROGRESS = re.compile(
    r"\s+(\d+ of \d+ files, )?\d+ s|.*: [\d.,]+( \w+)? of [\d.,]+( \w+)?|(pending|partial): .*"
)
"""Lines that appear or not depending on the speed of the machine."""

VOLATILE = (
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?"), "TIME"),
    (re.compile(r"\b(TIME ago|just now|for TIME)"), "AGO"),
    (re.compile(r"\b\d+(\.\d+)? ([kMG]i?)?B\b"), "SIZE"),
    (re.compile(r"\bpid \d+"), "pid PID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "MOMENT"),
    (re.compile(r"\b\d{8}T\d{6}Z\b"), "STAMP"),
    (re.compile(r"\bgeneration \d+"), "generation N"),
    (re.compile(r"(?<=  )[01]\.\d\d\b"), "SCORE"),
    (re.compile(r"memd \d+(\.\w+)+"), "memd RELEASE"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
)
"""Patterns of output that differs from run to run, and their placeholders in a comparison."""

TIMEOUT_S = 1_200
"""For one command: a build of llama-cpp-python takes minutes."""


CONVERSATIONS = (
    (
        claude_code,
        "0199a213-81c4-7000-8000-000000000001",
        "Which port does the staging gateway use?",
        "The staging gateway listens on port 8443, behind the proxy.",
        "And the certificate of the gateway?",
        "certbot renews the certificate of the staging gateway on Sundays.",
    ),
    (
        codex,
        "0199a213-81c4-7000-8000-000000000002",
        "How often does the mail queue retry bounces?",
        "We decided not to retry bounces in the queue, because the provider blocks senders who do.",
        "So the queue drops bounces?",
        "Yes, the queue drops bounces and logs their addresses.",
    ),
    (
        gemini,
        "0199a213-81c4-7000-8000-000000000003",
        "What broke the nightly backup?",
        "The backup ran out of inodes: the folder of thumbnails had two million files.",
        "Where should thumbnails go?",
        "Into object storage. The backup skips thumbnails since then.",
    ),
)
"""What a user said in three programs: the program, the session, and in turn the user and the agent."""

SAID_S = 1_793_606_400
"""When: 2 November 2026."""


class Shell:
    """A home directory and an environment for commands: `clone`, `agents`, or with the sample memory."""

    def __init__(self, kind: str = "") -> None:
        is_clone, self._kind = kind == "clone", kind
        self._root = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        self._home = self._root / "home"
        self._folder = self._home / "memd" if is_clone else self._home
        kept = {
            name: value for name, value in os.environ.items() if not re.match("MEMD_|OPENCLAW_|XDG_", name)
        }
        self._environ = kept | {
            "HOME": str(self._home),
            "XDG_RUNTIME_DIR": str(self._home / ".run"),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        model = parse_reference("minilm").file(models_dir())
        link = self._home / ".cache" / "memd" / "models" / model.name
        link.parent.mkdir(parents=True)
        link.symlink_to(model)
        if is_clone:
            self._environ["PATH"] = os.environ["PATH"]
            self._environ["PIP_CACHE_DIR"] = _pip_cache()
            copy_repository(self._folder)

    def __enter__(self) -> Shell:
        if not self._kind:
            self.run("memctl sample")
        elif self._kind == "agents":
            for program, session, *turns in CONVERSATIONS:
                writer = program(self._home)
                for at, text in enumerate(turns):
                    writer.append(session, "assistant" if at % 2 else "user", text)
            for path in self._home.rglob("*.jsonl"):
                os.utime(path, (SAID_S, SAID_S))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        memctl = ".venv/bin/memctl" if self._kind == "clone" else "memctl"
        self.run(f"{memctl} {'' if self._kind == 'agents' else '--sample '}service stop")
        shutil.rmtree(self._root, ignore_errors=True)

    def run(self, command: str) -> str:
        """Return what a command prints on both streams, the home directory as `~`."""
        done = subprocess.run(
            ["bash", "-c", command],
            env=self._environ,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return done.stdout.replace(str(self._home), "~")


def render(text: str, shell: Shell, kind: str = "") -> str:
    """Return a page with what its commands print now."""

    def record(found: re.Match[str]) -> str:
        if (found["home"] or "") != kind:
            return found[0]
        commands = re.findall(r"^\$ (.*)$", found["body"], re.MULTILINE)
        parts = [
            f"$ {each}\n{shell.run(each)}".strip() for each in commands[: 1 if kind == "clone" else None]
        ]
        body = "\n\n".join(parts) + "\n"
        same = stable(body) == stable(found["body"])
        return found[0] if same else f"```console{kind and f' {kind}'}\n{body}```"

    return BLOCK.sub(record, text)


def stable(text: str) -> str:
    """Return text without what differs from run to run."""
    text = "\n".join(line for line in text.splitlines() if not PROGRESS.fullmatch(line))
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    return text


def copy_repository(target: Path) -> None:
    """Copy the files that git knows, or would add, in their current state."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    for name in names.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _pip_cache() -> str:
    """Return the folder of this user's package cache."""
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    """Write the pages."""
    for kind in ("", "agents", *(["clone"] if "--long" in sys.argv else [])):
        with Shell(kind) as shell:
            for page in PAGES:
                page.write_text(render(page.read_text("utf-8"), shell, kind), "utf-8")


if __name__ == "__main__":
    main()
