"""What the index keeps about a session, and its project: the root of the repository, else the working directory."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from memd.index.transcripts import SessionFacts
from memd.sync.transcripts.conversation import Conversation
from memd.sync.transcripts.programs.records import request_title
from memd.sync.transcripts.talk_text import clean_title

MAX_DEPTH = 40
MAX_POINTER_BYTES = 4_096

_PLACEHOLDER = re.compile(
    r"(?:New|Child) session - \d{4}-\d\d-\d\d.*|New (?:agent|chat|session)", re.IGNORECASE
)
"""Titles that opencode and Cursor give to sessions that have no title yet."""


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
    return SessionFacts(
        program=source,
        session=session.id or session_id,
        kind=session.kind,
        title=clean_title(_title_of(conversation)),
        cwd=session.cwd,
        project=find_project(session.cwd),
        branch=session.branch,
        started_ms=session.started_ms or 0,
        updated_ms=session.updated_ms or updated_ms,
        unknown=sum(conversation.unknown.values()) + conversation.broken + skipped,
    )


def _title_of(conversation: Conversation) -> str:
    """Return the recorded title, unless it only holds the place of one, else the first request."""
    title = conversation.session.title
    if title and _PLACEHOLDER.fullmatch(title) is None:
        return title
    return request_title(each.text for each in conversation.messages if each.role == "user")


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
