"""Steps of sessions in an index, and git repositories with a history."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from memd.index.connection import Database
from memd.index.database import transaction
from memd.index.transcripts import SessionFacts, StoredTranscript, store_transcript
from memd.index.work import WorkRow, store_work
from tests.support.indexes import publish_note

DAY_S = 86_400
START_S = 1_793_600_000


class Repo:
    """A repository whose commits are a day apart."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.day = 0
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> None:
        """Run git in the repository."""
        time = f"{START_S + self.day * DAY_S} +0000"
        names = {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time, "GIT_CONFIG_GLOBAL": os.devnull}
        identity = ("-c", "user.name=Eva", "-c", "user.email=eva@shop.test")
        command = ["git", "-C", str(self.root), *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **names})

    def write(self, path: str, text: str) -> Path:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def commit(self, message: str = "Change") -> int:
        """Commit everything on a new day; return its time in milliseconds UTC."""
        self.day += 1
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return (START_S + self.day * DAY_S) * 1000


def prose(seed: str, lines: int = 30) -> str:
    """Return the text of a file that is like no other."""
    return "".join(f"{seed} line {number} of the {seed} file\n" for number in range(lines))


def touched(
    path: Path | str,
    action: str = "edited",
    *,
    place: int = 2,
    time_ms: int = 0,
    new: str = "",
    old: str = "",
) -> WorkRow:
    """Return a step with a file."""
    name = os.path.basename(path)
    return WorkRow(place, time_ms, action, "ok", None, "", str(path), name, "", new, old)


def ran(line: str, folder: Path | str, *, place: int = 2, time_ms: int = 0, status: str = "ok") -> WorkRow:
    """Return a command that was run."""
    return WorkRow(place, time_ms, "ran", status, None, str(folder), line.split()[0], line, "", line, "")


def with_session(
    db: Database,
    session: str,
    cwd: Path | str,
    messages: Sequence[str],
    rows: Sequence[WorkRow],
    project: str = "",
) -> str:
    """Index a session of Codex, whose messages are at the places 1, 3, 5 and so on; return its path."""
    path = f"codex/{session}"
    publish_note(db, path, "\n".join(messages), "codex")
    with transaction(db):
        facts = SessionFacts(
            "codex", session, cwd=str(cwd), project=project or str(cwd), updated_ms=START_S * 1000
        )
        places = [2 * number + 1 for number in range(len(messages))]
        store_transcript(db, path, StoredTranscript(places, facts=facts))
        digests = [row._replace(digest=number) for number, row in enumerate(rows)]
        store_work(db, path, digests)
    return path
