"""Whether hits still hold: adds verdicts to hits, within a bounded time."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

import trio
from msgspec.structs import replace

from memd.currency.memo import Memo, NotCachedError
from memd.currency.names import find_names
from memd.currency.verdicts import Moment, Worktree
from memd.git.checkout import Checkout, find_repository
from memd.index.connection import Database, IndexFile
from memd.index.transcripts import load_session_facts
from memd.index.work import find_changed_files
from memd.search.freshness import DiskView
from memd.system.log import log
from memd_client.errors import MemdError
from memd_client.hit_text import size_of_hit
from memd_client.messages import Currency, Hit

TIMEOUT_S: Final = 0.04
"""How long a search waits for git. What git finds later is there for the next search."""

GRACE_S: Final = 12 * 3_600
"""How long after the day of a note, or the end of a session, a commit may be its own."""

DAY_S: Final = 86_400
VERDICTS: Final = ("missing", "changed", "holds")
"""The verdicts; of a hit's names, the first that has the first of them is shown."""


class Origin(NamedTuple):
    """Where a hit is from: folders or a note, of which the first that exists counts; its session's end and files."""

    locations: tuple[str, ...]
    ended_ms: int = 0
    own: Mapping[str, str] = {}


class HitCurrency:
    """Adds verdicts to the hits of one agent; whatever fails, they only have none."""

    def __init__(self, index: IndexFile, *, is_enabled: bool) -> None:
        self._index, self._is_enabled = index, is_enabled
        values: dict[Hashable, object] = {}
        self._cached, self._loading = Memo(values, is_loading=False), Memo(values, is_loading=True)
        self._threads = trio.CapacityLimiter(1)

    async def add_verdicts(self, hits: list[Hit], view: DiskView, max_chars: int | None) -> list[Hit]:
        """Return hits with the verdicts that git gives in time, and that fit into the limit of characters."""
        if not hits or not self._is_enabled:
            return hits
        conversations = [hit for hit in hits if hit.session is not None]
        files = {} if view.disk is None else view.disk.files
        origins = {hit.path: Origin((files[hit.path].location,)) for hit in hits if hit.path in files}
        with suppress(MemdError):  # then conversations have no verdicts
            if conversations:
                origins |= await self._index.read(lambda db: _find_sessions(db, conversations))
        pairs = [(hit, origins.get(hit.path)) for hit in hits]
        verdicts, is_complete = await trio.to_thread.run_sync(_find_all, pairs, self._cached)
        if not is_complete and self._threads.available_tokens:
            with trio.move_on_after(TIMEOUT_S):
                verdicts, _ = await trio.to_thread.run_sync(
                    _find_all, pairs, self._loading, limiter=self._threads, abandon_on_cancel=True
                )
        left = float("inf") if max_chars is None else max_chars - sum(map(size_of_hit, hits))
        for at, (hit, verdict) in enumerate(zip(hits, verdicts, strict=True)):
            longer = replace(hit, currency=verdict)
            if (size := size_of_hit(longer) - size_of_hit(hit)) <= left:
                hits[at], left = longer, left - size
        return hits


def _find_sessions(db: Database, hits: Sequence[Hit]) -> dict[str, Origin]:
    """Return the origins of the conversations whose hits name something: a long one has thousands of steps."""
    paths = {hit.path for hit in hits if find_names(hit.snippet)}
    if not paths:
        return {}
    facts, files = load_session_facts(db, paths), find_changed_files(db, paths)
    return {
        path: Origin((session.cwd, session.project), session.updated_ms, files.get(path, {}))
        for path, session in facts.items()
    }


def _find_all(pairs: Sequence[tuple[Hit, Origin | None]], memo: Memo) -> tuple[list[Currency | None], bool]:
    """Return the verdicts on hits, and whether all that they need was cached or loaded (blocking)."""
    verdicts, is_complete = list[Currency | None](), True
    for hit, origin in pairs:
        verdicts.append(None)
        try:
            verdicts[-1] = None if origin is None else find_currency(hit, origin, memo)
        except NotCachedError:
            is_complete = False
        except Exception as error:  # noqa: BLE001 - repositories are input: no search fails because of them
            log.warning("search.currency_failed", error=type(error).__name__)
    return verdicts, is_complete


def find_currency(hit: Hit, origin: Origin, memo: Memo) -> Currency | None:
    """Return the verdict on a hit; None if nothing is certain (blocking)."""
    names = find_names(hit.snippet) if hit.date else ()
    if not names:
        return None
    from_s = int(datetime.fromisoformat(hit.date).replace(tzinfo=UTC).timestamp())
    until_s = max(from_s, origin.ended_ms // 1_000 or from_s + DAY_S) + GRACE_S
    moment = Moment(
        next(filter(os.path.isdir, map(_folder_of, origin.locations)), ""), from_s, until_s, origin.own
    )
    verdicts, worktrees = list[Currency](), dict[Checkout, Worktree | None]()
    for name in names:
        path = os.path.join(moment.folder, os.path.expanduser(name.spellings[0]))
        repository = find_repository(os.path.dirname(path)) if os.path.isabs(path) else None
        if repository is not None and repository not in worktrees:
            history = memo.find_history(repository, from_s)
            worktrees[repository] = Worktree(repository, history, moment, memo) if history else None
        worktree = None if repository is None else worktrees[repository]
        verdict = None if worktree is None else worktree.judge(name)
        if verdict is not None and verdict.text.isprintable():
            verdicts.append(verdict)
    return min(verdicts, key=lambda verdict: VERDICTS.index(verdict.verdict), default=None)


def _folder_of(location: str) -> str:
    """Return the folder where the names of a session or note begin; "" if it is unknown."""
    folder, is_memory, _ = location.rpartition("/memory/")
    encoded = folder.rpartition("/projects/")[2] if is_memory else ""
    if encoded.startswith("-"):
        return _decode("/", encoded[1:])
    return os.path.dirname(location) if location.endswith(".md") else location


def _decode(folder: str, encoded: str) -> str:
    """Return the folder below another one for which Claude Code has this name, with `-` in place of most characters."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = re.sub(r"[^A-Za-z0-9]", "-", entry.name)
        if f"{encoded}-".startswith(f"{name}-") and entry.is_dir() and os.access(entry.path, os.R_OK):
            rest = encoded[len(name) + 1 :]
            if found := _decode(entry.path, rest) if rest else entry.path:
                return found
    return ""
