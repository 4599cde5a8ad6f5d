"""Projects of working directories: the root of the repository that has it, else the directory itself."""

from __future__ import annotations

import os
from functools import lru_cache

MAX_DEPTH = 40
MAX_POINTER_BYTES = 4_096


@lru_cache(maxsize=1_024)
def find_project(cwd: str) -> str:
    """Return the project of a working directory, which may be gone (blocking).

    All worktrees of a repository are one project.
    """
    if not cwd or not os.path.isabs(cwd) or "\0" in cwd:
        return cwd
    folder = os.path.normpath(cwd)
    for _ in range(MAX_DEPTH):
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return folder
        if os.path.isfile(git):
            return _main_worktree(git) or folder
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return os.path.normpath(cwd)


def _main_worktree(pointer: str) -> str | None:
    """Return the repository's folder that the `.git` file of a worktree points to, or None."""
    try:
        with open(pointer, encoding="utf-8", errors="replace") as file:
            line = file.read(MAX_POINTER_BYTES).partition("\n")[0]
    except OSError:
        return None
    target = line.removeprefix("gitdir:").strip()
    parts = target.split("/.git/worktrees/")
    return parts[0] if len(parts) == 2 and os.path.isabs(parts[0]) else None
