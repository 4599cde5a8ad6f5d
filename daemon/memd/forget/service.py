"""Forgets on this machine: finds, erases what the user confirmed, checks, and writes a receipt."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import trio
from msgspec import Struct, field
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.forget import places
from memd.forget.places import ForgetPlan, Place
from memd.forget.remotes import HISTORY, Runners, must_share, share_forget, visit_history
from memd.index.forgetting import count_by_path
from memd.index.transcripts import find_session
from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.files import FactFiles
from memd.lifecycle.files.folder_files import LIMIT_BYTES
from memd.lifecycle.hooks.confident_matches import find_candidates
from memd.lifecycle.hooks.line_confidence import MIN_INJECTED
from memd.lifecycle.hooks.project import Project
from memd.lifecycle.hooks.prompts import sentences_of
from memd.lifecycle.recalls.log import RecallLog
from memd.sources.forgotten import TRASH, Forget, conversation_text
from memd.sources.open import RETAINED
from memd.sources.read import read_file
from memd.sources.retained import DAY_MS
from memd.system.clock import wall_clock_ms
from memd.system.log import log
from memd.text.forgotten import MARKER, Tombstone, is_too_short
from memd.text.query.keywords import plan_match
from memd.text.query.word_forms import has_words
from memd.text.tokens import split_words
from memd_client.errors import BadParamsError, FileMissingError, MemdError
from memd_client.messages import (
    ForgetParams,
    ForgetPlace,
    ForgetReceipt,
    ForgetReply,
    ForgetStatement,
    SearchParams,
)

ANSWER_TIMEOUT_S = 20.0
"""How long a receipt waits for other machines; later answers are added to it."""

UNREACHABLE = Path(__file__).with_name("unreachable.txt").read_text("utf-8").splitlines()
MIN_LINE_WORDS, MAX_HITS = 4, 30
MASKED, STILL_THERE = "memd masks the text when it reads this file", "the file still contains the text"


class ForgetTarget(Struct):
    """What is forgotten: `texts` get tombstones, `statements` are shown, `note` is removed whole."""

    kind: str
    texts: list[str]
    statements: list[ForgetStatement] = field(default_factory=list)
    note: str = ""
    location: str = ""


class ForgetService:
    """The forgets of this machine. `places` are visited in order; the index is last, because it is read from others."""

    def __init__(self, registry: AgentRegistry, recalls: RecallLog, replicas: Runners) -> None:
        self._replicas, history = replicas, partial(visit_history, replicas)
        self._registry, self._recalls, self._lock = registry, recalls, trio.Lock()
        self._file, self._trash = registry.forgotten, registry.state_dir / "memory" / TRASH
        visits = places.visit_notes, places.visit_copies, places.visit_recalls, history, places.visit_index
        self.places: list[Place] = [*visits]

    async def answer(self, params: ForgetParams) -> ForgetReply:
        """Carry out a request; from the first durable step of `forget` on, the tombstones, the text is masked."""
        if params.action == "receipts":
            return ForgetReply(receipts=[forget.receipt for forget in reversed(self._file.forgets)])
        async with self._lock:
            if params.action == "undo":
                return await self._undo(params.receipt)
            reply, forget, texts = await self._find(params)
            if params.action == "find":
                return reply
            if params.confirmed != reply.found_id:
                raise _wrong(
                    "confirmed", "what is found has changed", "run the command again, and confirm that"
                )
            self._file.forgets.append(forget)
            await self._save(forget, forget.receipt)
            await self._finish(forget, texts)
        if params.everywhere:
            await self._share(forget, ANSWER_TIMEOUT_S)
        return replace(reply, receipts=[forget.receipt])

    async def tidy(self) -> None:
        """Finish what a kill interrupted, and empty the trash whose time is over."""
        async with self._lock:
            for forget in self._file.forgets:
                receipt = forget.receipt
                try:
                    if receipt.state == "pending":
                        await self._finish(forget, ())
                    elif 0 < receipt.trash_until_ms < wall_clock_ms():
                        remove = partial(shutil.rmtree, self._trash / receipt.id, ignore_errors=True)
                        await trio.to_thread.run_sync(remove)
                        await self._save(forget, replace(receipt, trash_until_ms=0))
                except Exception as error:  # noqa: BLE001 - the daemon must run, and the text stays masked
                    log.warning("forget.not_finished", receipt=receipt.id, error=type(error).__name__)

    async def learn(self, tombstones: frozenset[Tombstone]) -> None:
        """Forget on this machine what other machines forgot everywhere; raise if that isn't finished."""
        async with self._lock:
            if new := tombstones.difference(*map(self._file.salted, self._file.forgets)):
                receipt = ForgetReceipt(
                    fact_lines.new_id(wall_clock_ms()), "text", wall_clock_ms(), texts=len(new)
                )
                self._file.forgets.append(Forget(receipt, list(new)))
                await self._save(self._file.forgets[-1], receipt)
        await self.tidy()
        if any(forget.receipt.state == "pending" for forget in self._file.forgets):
            raise MemdError("a text that another machine forgot could not be forgotten here yet")

    async def share(self) -> None:
        """Finish what remotes and other machines have not forgotten."""
        for forget in filter(must_share, self._file.forgets):
            await self._share(forget, 0)

    async def _share(self, forget: Forget, wait_s: float) -> None:
        await self._save(forget, await share_forget(self._file, forget, self._replicas, wait_s))

    async def _undo(self, receipt: str) -> ForgetReply:
        """Lift the tombstones of a receipt, of the newest one if empty, and restore notes that are in the trash."""
        forgets = [forget for forget in self._file.forgets if forget.receipt.state != "undone"]
        forget = next((one for one in reversed(forgets) if receipt in ("", one.receipt.id)), None)
        if forget is None:
            raise _wrong("receipt", "there is no such receipt", "run `memctl forget --receipts`")
        if any(row.place == HISTORY for row in forget.receipt.places):
            raise _wrong("receipt", "other machines have forgotten it too", "write it again in other words")
        await self._save(forget, replace(forget.receipt, state="undone", trash_until_ms=0))
        await trio.to_thread.run_sync(places.restore_notes, self._trash / forget.receipt.id)
        await places.read_again(self._plan(forget).agents, lambda text: text.count(MARKER))
        return ForgetReply(receipts=[forget.receipt])

    async def _find(self, params: ForgetParams) -> tuple[ForgetReply, Forget, list[str]]:
        """Return what a target is, its forget, and its texts."""
        agent, name = self._registry.agent(params.agent), params.target.strip()
        agents = [] if params.everywhere else [agent.agent_id]
        await agent.perform(lambda opened: opened.text.sync())
        is_quoted = len(name) > 2 and name[0] == name[-1] == '"'
        text = name.strip('"').strip() if is_quoted else name
        target = None if is_quoted else await _find_named(agent, name)
        target = target or ForgetTarget("text", [text], [ForgetStatement(text)])
        retained = await self._retain(agent, target) if target.note and not params.everywhere else []
        forget = self._new_forget(target, agents, agent)
        rows = await self._visit(self._plan(forget))
        if not rows and not is_quoted:
            target = await _find_statements(agent, name)
            forget = self._new_forget(target, agents, agent)
            rows = await self._visit(self._plan(forget))
        if not rows:
            raise FileMissingError(
                f"nothing in memory matches {name[:80]!r}", hint="search with `memctl search`"
            )
        if not is_quoted and not target.note and any(map(is_too_short, target.texts)):
            hint = "pass the text in double quotes, inside single ones, to mask it everywhere"
            raise _wrong("target", "many other texts contain one that is so short", hint)
        seen = repr((target.kind, target.texts, forget.notes, agents)).encode("utf-8", "replace")
        forget.receipt = replace(forget.receipt, places=[*rows, *retained])
        found_id = hashlib.sha256(seen).hexdigest()[:16]
        return (
            ForgetReply(target.kind, target.statements, forget.receipt.places, found_id),
            forget,
            target.texts,
        )

    async def _retain(self, agent: Agent, target: ForgetTarget) -> list[ForgetPlace]:
        """Remove the lines of a note from a target that also stand elsewhere; return where they stay."""
        forgotten = self._file.only([self._new_forget(target, [agent.agent_id], agent).tombstones])
        counts, own = Counter[str](), Counter(digest for digest, _, _ in forgotten.matches(target.texts[-1]))

        def count(text: str) -> int:
            counts.update(digest for digest, _, _ in forgotten.matches(text))
            return 0

        await agent.read_index(partial(count_by_path, count=count))
        others = [text for text in target.texts if counts[key := forgotten.tombstone(text).digest] > own[key]]
        target.texts = [text for text in target.texts if text not in others]
        plan = self._plan(self._new_forget(ForgetTarget("note", others), [agent.agent_id], agent))
        rows = await self._visit(plan) if others else []
        rows = [
            row
            for row in rows
            if row.place not in ("index", "recall log") and row.location != target.location
        ]
        return [replace(row, state="retained", reason="it is part of this text as well") for row in rows]

    def _new_forget(self, target: ForgetTarget, agents: Sequence[str], agent: Agent) -> Forget:
        now, days = wall_clock_ms(), self._registry.settings.forget_trash_days
        stones = {
            stone.digest: stone for stone in map(self._file.only([]).tombstone, target.texts) if stone.words
        }
        until = now + days * DAY_MS if days else 0
        receipt = ForgetReceipt(
            fact_lines.new_id(now), target.kind, now, list(agents), len(stones), trash_until_ms=until
        )
        return Forget(receipt, list(stones.values()), [(agent.agent_id, target.note)] if target.note else [])

    def _plan(self, forget: Forget, texts: Sequence[str] = ()) -> ForgetPlan:
        receipt, agents = forget.receipt, self._registry.agents
        enabled = [agent for agent in agents.values() if agent.config.settings.enabled]
        return ForgetPlan(
            self._registry,
            self._recalls,
            [agent for agent in enabled if agent.agent_id in (receipt.agents or agents)],
            self._file.only([forget.tombstones]),
            forget.notes,
            not receipt.agents,
            self._trash / receipt.id if receipt.trash_until_ms else None,
            texts,
        )

    async def _visit(self, plan: ForgetPlan) -> list[ForgetPlace]:
        return [row for visit in self.places for row in await visit(plan)]

    async def _finish(self, forget: Forget, texts: Sequence[str]) -> None:
        """Erase it in every place, check, and complete the receipt."""
        plan = self._plan(forget, texts)
        rows = await self._visit(replace(plan, erases=True))
        reasons = {row.location: STILL_THERE for row in await self._visit(plan)}
        reasons |= {row.location: row.reason for row in rows if row.reason}
        checked = await trio.to_thread.run_sync(lambda: list(places.check_files(plan)))
        outcomes = [_outcome(row, reasons) for row in forget.receipt.places or rows]
        hidden = sorted({row.location for row in outcomes if row.state == "hidden"})
        forget.notes = []
        await self._save(
            forget,
            replace(
                forget.receipt,
                state="done",
                places=outcomes,
                checked=checked,
                unreachable=UNREACHABLE + hidden,
            ),
        )

    async def _save(self, forget: Forget, receipt: ForgetReceipt) -> None:
        forget.receipt = receipt
        await trio.to_thread.run_sync(self._file.save)


def _outcome(row: ForgetPlace, reasons: Mapping[str, str]) -> ForgetPlace:
    """Return what became of what was found in a place."""
    if row.state == "retained":
        return row
    if row.place == "conversations" and f"/{RETAINED}/" not in row.location:
        return replace(row, state="hidden", reason=MASKED)
    reason = reasons.get(row.location, "")
    return replace(row, state="failed" if reason else "erased", reason=reason)


def _wrong(name: str, what: str, hint: str) -> BadParamsError:
    return BadParamsError(f"forget: {what}", hint=hint, data={"field": name})


async def _find_named(agent: Agent, name: str) -> ForgetTarget | None:
    """Return the note, conversation or fact with a path, an id or exactly this text; None if there is none."""
    files = (await agent.perform(places.scan)).files
    session = await agent.read_index(partial(find_session, session=name))
    path = next(
        (path for path, file in files.items() if name in (path, file.location) or path == session), None
    )
    if path is not None and files[path].is_conversation:
        return ForgetTarget("conversation", [conversation_text(path)])
    if path is not None:
        note = files[path]
        text = (await trio.to_thread.run_sync(read_file, note, LIMIT_BYTES)).text
        lines = [line for line in text.split("\n") if len(set(split_words(line))) >= MIN_LINE_WORDS]
        return ForgetTarget("note", [*dict.fromkeys(lines), text], note=path, location=note.location)
    facts = FactFiles(agent.config.workspace, agent.limits, agent.forgotten)
    for fact in await trio.to_thread.run_sync(facts.load):
        if name == fact.id or fact_lines.normal_form(name) == fact_lines.normal_form(fact.text):
            statement = ForgetStatement(fact.text, f"{fact.path}#L{fact.line}")
            return ForgetTarget(
                "fact", [fact.text, fact_lines.write(fact, plain=True)[2:].strip()], [statement]
            )
    return None


async def _find_statements(agent: Agent, query: str) -> ForgetTarget:
    """Return the sentences of notes, facts and conversations that answer a query confidently."""
    reply = await agent.search(SearchParams(query, max_results=MAX_HITS, explain=True))
    words = plan_match(query, ()).words
    statements = dict[str, ForgetStatement]()
    for candidate in find_candidates(query, reply.hits, Project(""), reply.model):
        if candidate.probability >= MIN_INJECTED:
            line = candidate.line.quoted[0].removeprefix("User: ").removeprefix("Assistant: ")
            sentences = sentences_of(line) or [line]
            counts = [sum(has_words(sentence, (word,)) for word in words) for sentence in sentences]
            text = sentences[counts.index(max(counts))].strip()
            statements.setdefault(text, ForgetStatement(text, candidate.line.place))
    return ForgetTarget("text", list(statements), list(statements.values()))
