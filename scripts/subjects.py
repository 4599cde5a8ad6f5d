"""Checks the subjects of commits since the last tag: `scripts/check` calls it.

Without a tag the commits after the one that added this file are checked, for verbs those after the list of verbs. A
shallow clone is checked as far as it reaches; outside git there is nothing to check.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_SUBJECT_CHARS = 72

VERBS_FILE = "scripts/texts/imperative_verbs.txt"
VERBS = frozenset((ROOT / VERBS_FILE).read_text("utf-8").split())


def problems_of(subject: str, *, with_verb: bool = True) -> list[str]:
    """Return what is wrong with a commit's subject; `with_verb` also requires a verb after its scope."""
    problems = []
    if with_verb and subject.rpartition(": ")[2].split(" ")[0].lower() not in VERBS:
        problems.append(f"it doesn't begin with an imperative verb of {VERBS_FILE}")
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
    with_verb = set(_commits_since(root, VERBS_FILE))
    for line in _commits_since(root, "scripts/subjects.py"):
        commit, _, subject = line.partition(" ")
        problems = problems_of(subject, with_verb=line in with_verb)
        lines += [f"{commit} {subject!r}: {problem}" for problem in problems]
    return lines


def _commits_since(root: Path, file: str) -> list[str]:
    """Return the commits since the last tag, or since a file was added, each as `hash subject`."""
    tag = _git(root, "describe", "--tags", "--abbrev=0").strip()
    added = _git(root, "log", "--diff-filter=A", "--format=%H", "--", file).split()
    since = tag or (added[-1] if added else "")
    return _git(root, "log", "--no-merges", "--format=%h %s", f"{since}..HEAD").splitlines() if since else []


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
