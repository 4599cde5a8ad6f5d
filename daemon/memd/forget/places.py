"""The places on this machine that may contain a text, and the files that are checked afterwards.

Visits find a text or erase it, by its tombstones alone. They can be repeated: the daemon may be killed at any moment.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import trio
from msgspec import Struct, field

from memd.agents.agent import Agent
from memd.agents.open_agent import OpenAgent
from memd.agents.registry import AgentRegistry
from memd.index.forgetting import count_by_path, erase
from memd.lifecycle.files import writing
from memd.lifecycle.files.folder_files import LIMIT_BYTES
from memd.lifecycle.files.replacing import merge_changes
from memd.lifecycle.recalls.log import FILE as RECALLS
from memd.lifecycle.recalls.log import RecallLog
from memd.lifecycle.recalls.recall import Recall
from memd.sources.forgotten import TRASH
from memd.sources.open import RETAINED
from memd.sources.read import read_file
from memd.sources.retained import find_retained
from memd.sources.source import Listing, SourceFile
from memd.system.state_file import replace_synced
from memd.system.temp_files import remove_leftovers
from memd.text.forgotten import Forgotten
from memd_client.errors import MemdError
from memd_client.messages import ForgetCheck, ForgetPlace

BLOCK_BYTES, OVERLAP_BYTES, MAX_RAW_TEXTS = 8 * 1_048_576, 65_536, 50


class ForgetPlan(Struct):
    """What is forgotten, where, and whether a visit `erases` it.

    Attributes:
        agents: The agents whose memory it leaves.
        forgotten: Its tombstones alone.
        notes: Agents and index paths of notes that are removed whole.
        is_everywhere: Whether it leaves all agents, remotes and other machines.
        trash: Folder for what notes contained; None: nothing is kept.
        texts: The texts, to be searched in raw bytes; empty after a restart.
    """

    registry: AgentRegistry
    recalls: RecallLog
    agents: list[Agent]
    forgotten: Forgotten
    notes: list[tuple[str, str]] = field(default_factory=list)
    is_everywhere: bool = False
    trash: Path | None = None
    texts: Sequence[str] = ()
    erases: bool = False

    def count(self, text: str) -> int:
        """Return the number of forgotten texts in a text."""
        return sum(1 for _ in self.forgotten.matches(text))

    def concerns(self, agent: str) -> bool:
        """Return whether it leaves the memory of an agent."""
        return self.is_everywhere or any(agent == each.agent_id for each in self.agents)


Place: TypeAlias = Callable[[ForgetPlan], Awaitable[list[ForgetPlace]]]
"""Returns what a place contains, by file, after erasing it if the plan `erases`; `reason` is why that failed."""


async def visit_notes(plan: ForgetPlan) -> list[ForgetPlace]:
    """Visit notes and facts: of the workspace and its extra paths, of vaults and of other programs."""

    async def visit(opened: OpenAgent) -> list[ForgetPlace]:
        return await trio.to_thread.run_sync(lambda: list(_visit_notes(plan, opened)), limiter=opened.disk)

    return [row for agent in plan.agents for row in await agent.perform(visit)]


async def visit_copies(plan: ForgetPlan) -> list[ForgetPlace]:
    """Visit retained copies of conversations."""
    return await trio.to_thread.run_sync(lambda: list(_visit_copies(plan)))


async def visit_recalls(plan: ForgetPlan) -> list[ForgetPlace]:
    """Visit the log of recalls, which is also the log of hooks."""

    def has(recall: Recall) -> bool:
        text = f"{recall.query}\n{recall.candidate}"
        return any(map(plan.concerns, recall.agents)) and plan.forgotten.has(text)

    count = sum(map(has, await plan.recalls.read()))
    if plan.erases:
        await plan.recalls.forget(has)
    path = plan.registry.state_dir / "memory" / RECALLS
    return [ForgetPlace("recall log", "", str(path), count)] if count else []


async def visit_index(plan: ForgetPlan) -> list[ForgetPlace]:
    """Visit the index of each agent: chunks, keywords, titles, work, annotations, vectors, and its log."""
    rows = list[ForgetPlace]()
    for agent in plan.agents:
        counts = await agent.read_index(partial(count_by_path, count=plan.count))
        files = (await agent.perform(scan)).files
        for path, count in counts.items():
            if path in files and files[path].is_conversation:
                rows.append(ForgetPlace("conversations", agent.agent_id, files[path].location, count))
        row = partial(ForgetPlace, "index", agent.agent_id, str(agent.config.index_path))
        rows += [row(sum(counts.values()))] if counts else []
        try:
            if plan.erases:
                await read_again([agent], plan.count)
        except MemdError as error:
            rows.append(row(0, reason=error.message))
    return rows


async def scan(opened: OpenAgent) -> Listing:
    """Return an agent's files as they are on disk now."""
    return await trio.to_thread.run_sync(opened.sources.find, limiter=opened.disk)


async def read_again(agents: Iterable[Agent], count: Callable[[str], int]) -> None:
    """Read the files again whose rows contain such texts, after erasing these from disk and RAM."""
    for agent in agents:
        await agent.perform(lambda opened: opened.index_file.write(partial(erase, count=count)))
        await agent.replace(agent.config)
        await agent.erase_deleted()


def _visit_copies(plan: ForgetPlan) -> Iterator[ForgetPlace]:
    for (agent, _), copies in find_retained(plan.registry.state_dir / RETAINED).items():
        for name, copy in list(copies.all().items() if plan.concerns(agent) else ()):
            row = partial(ForgetPlace, "retained copies", agent, copy.location)
            try:
                if count := copies.forget_texts(name, plan.forgotten, erases=plan.erases):
                    yield row(count)
            except (OSError, EOFError, ValueError, zlib.error) as error:
                yield row(0, reason=type(error).__name__)


def _visit_notes(plan: ForgetPlan, opened: OpenAgent) -> Iterator[ForgetPlace]:
    for note in opened.sources.find_notes().files.values():
        is_removed, count, reason = (opened.agent_id, note.path) in plan.notes, 0, ""
        try:
            text = read_file(note, LIMIT_BYTES, cut=True).text
            count = int(is_removed) or plan.count(text)
            if count and plan.erases:
                _erase_note(plan, note, text, is_removed)
        except (MemdError, OSError) as error:
            reason = str(error)
        if count:
            place = "facts" if note.path.startswith("memory/facts") else "notes"
            yield ForgetPlace(place, opened.agent_id, note.location, count, reason=reason)


def _erase_note(plan: ForgetPlan, note: SourceFile, text: str, is_removed: bool) -> None:
    """Remove a note, or the forgotten texts from it; before, the trash gets what it contained."""
    root, path = note.root, os.path.relpath(note.location, note.root)
    if plan.trash is not None:
        entry = plan.trash / hashlib.sha256(note.location.encode()).hexdigest()[:24]
        plan.trash.mkdir(0o700, parents=True, exist_ok=True)
        if not entry.exists():
            after = None if is_removed else plan.forgotten.without(text)
            replace_synced(entry, json.dumps([root, path, text, after]).encode(), 0o600)
    if is_removed:
        writing.remove(Path(root), path, lambda held: held == text)
    else:
        writing.change(Path(root), path, plan.forgotten.without)
    remove_leftovers(Path(note.location).parent)  # of an erasure that was killed


def restore_notes(trash: Path) -> None:
    """Write back what notes contained, with the changes since, and remove the trash (blocking)."""
    for entry in sorted(trash.glob("*")):
        root, path, before, after = json.loads(entry.read_text())
        if after is None:
            writing.create(Path(root), path, before)
        else:
            writing.change(Path(root), path, partial(merge_changes, after, before))
    shutil.rmtree(trash, ignore_errors=True)


def check_files(plan: ForgetPlan) -> Iterator[ForgetCheck]:
    """Yield memd's own files with how often their bytes contain a forgotten text, but its trash and git (blocking)."""
    folder, indexes = plan.registry.state_dir / "memory", [agent.config.index_path for agent in plan.agents]
    others = {each for each in plan.registry.agents if not plan.concerns(each)}
    paths = {path for index in indexes for path in index.parent.glob(f"{index.name}*")}
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if others.isdisjoint((*parts, path.name.partition(".")[0])) and parts[0] not in ("remotes", TRASH):
            paths.add(path)
    forms = {form for text in plan.texts for form in (text.encode(), json.dumps(text).encode()[1:-1])}
    for path in sorted(paths):
        with suppress(OSError, EOFError, zlib.error):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as whole:  # an index may be larger than the RAM
                    digest, count, tail = hashlib.file_digest(whole, "sha256").hexdigest(), 0, b""
                with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                    while block := file.read(BLOCK_BYTES):
                        data = tail + block
                        tail = data[-OVERLAP_BYTES:]
                        if 0 < len(forms) < MAX_RAW_TEXTS:
                            count += sum(map(data.count, forms))
                        else:
                            count += plan.count(data.decode("utf-8", "replace"))
                yield ForgetCheck(str(path), digest, count)
