"""What the index keeps about a session, and its project: the root of the repository, else the working directory."""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import lru_cache

import msgspec

from memd.index.transcripts import SessionFacts
from memd.programs.conversation import Conversation
from memd.programs.records import MAX_TYPE_CHARS, MAX_UNKNOWN_TYPES, session_title
from memd.sources.conversation_text import clean_title

MAX_DEPTH = 40
MAX_POINTER_BYTES = 4_096

_NO_NAME = re.compile(r"[^\w .:/@+-]", re.ASCII)
"""Characters that names of types and releases don't have; others could be text, or harm a terminal."""


def facts_of(
    source: str, conversation: Conversation, *, session_id: str, updated_ms: int, skipped: int = 0
) -> SessionFacts:
    """Return what the index keeps about a session (blocking).

    Args:
        source: The source's name.
        conversation: The session's conversation.
        session_id: Its id, if the conversation has none.
        updated_ms: The time of its last change, if the conversation has none.
        skipped: Lines that were not read.
    """
    session = conversation.session
    types: Counter[str] = Counter()
    for name, records in conversation.unknown.most_common(MAX_UNKNOWN_TYPES):
        types[_name_of(name)] += records
    prompts = (each.text for each in conversation.messages if each.role == "user")
    return SessionFacts(
        program=source,
        session=session.id or session_id,
        kind=session.kind,
        title=clean_title(session_title(session.title, prompts)),
        cwd=session.cwd,
        project=find_project(session.cwd),
        branch=session.branch,
        started_ms=session.started_ms or 0,
        updated_ms=session.updated_ms or updated_ms,
        unknown=sum(conversation.unknown.values()) + conversation.broken + skipped,
        release=_name_of(session.release),
        unknown_types=msgspec.json.encode(types).decode() if types else "",
    )


def _name_of(text: str) -> str:
    return _NO_NAME.sub("?", text[:MAX_TYPE_CHARS])


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


def is_in_project(folder: str, project: str) -> bool:
    """Return whether a session's project is the one with a path or a name; an empty one is any."""
    if os.path.isabs(project):
        return folder == project
    return not project or os.path.basename(folder).casefold() == project.casefold()


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
