"""Checks the subjects of commits since the last tag: `scripts/check` calls it.

Without a tag the commits after the one that added this file are checked. A shallow clone is checked as far as it
reaches; outside git there is nothing to check.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_SUBJECT_CHARS = 72


def problems_of(subject: str) -> list[str]:
    """Return what is wrong with a commit's subject."""
    problems = []
    if len(subject) > MAX_SUBJECT_CHARS:
        problems.append(f"{len(subject)} characters, at most {MAX_SUBJECT_CHARS}")
    if "; and" in subject:
        problems.append("“; and”: one change a commit")
    if subject.endswith("."):
        problems.append("a full stop at its end")
    return problems


def findings(root: Path = ROOT) -> list[str]:
    """Return a line for each subject that breaks a rule."""
    lines = []
    for line in _git(root, "log", "--no-merges", "--format=%h %s", *_commits_to_check(root)).splitlines():
        commit, _, subject = line.partition(" ")
        lines += [f"{commit} {subject!r}: {problem}" for problem in problems_of(subject)]
    return lines


def _commits_to_check(root: Path) -> list[str]:
    """Return arguments of `git log`: the commits since the last tag, or since this file was added."""
    tag = _git(root, "describe", "--tags", "--abbrev=0").strip()
    added = _git(root, "log", "--diff-filter=A", "--format=%H", "--", "scripts/subjects.py").split()
    since = tag or (added[-1] if added else "")
    return [f"{since}..HEAD"] if since else ["--max-count=0"]


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints, or nothing if it fails or is missing."""
    try:
        made = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8", check=False
        )
    except FileNotFoundError:
        return ""
    return made.stdout if made.returncode == 0 else ""


if __name__ == "__main__":
    found = findings()
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
