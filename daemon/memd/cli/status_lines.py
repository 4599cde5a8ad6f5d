"""The lines of `memctl status`: one description, of which the short status shows a part. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memd.cli.lines import (
    BLANK,
    DETAILS,
    LABEL_INDENT,
    NO_AGENTS,
    Line,
    Piece,
    ago,
    cells,
    check_line,
    count,
    degraded_lines,
    dotted,
    embedder,
    fallback_pieces,
    filling_pieces,
    first_few,
    line,
    listed,
    percent,
    problem_lines,
    rough,
    row,
    since,
    size,
    skipped_lines,
    span,
    until,
)
from memd.cli.remote_lines import remote_lines

if TYPE_CHECKING:
    from memd_client.messages import (
        AgentStatus,
        BulkJob,
        DownloadStatus,
        ModelStatus,
        Problem,
        SourceStatus,
        StatusReply,
    )


@dataclass(frozen=True, slots=True)
class Detail:
    """A row of the status with all details: its label, its pieces, and the pieces in the short status, if any."""

    label: str
    pieces: tuple[Piece, ...] = ()
    short: tuple[Piece, ...] = ()


def state_of(agent: AgentStatus) -> tuple[str, str]:
    """Return the most important state of an agent, and its style."""
    if not agent.enabled:
        return "off", "quiet"
    if other_problems(agent) or any(not check.ok for check in agent.checks):
        return "needs attention", "bad"
    if agent.degraded is not None:
        return "degraded", "warn"
    if agent.fallback is not None:
        return "fallen back", "warn"
    if agent.syncing:
        return "syncing", "good"
    if agent.files_pending or agent.chunks_pending:
        return "catching up", "good"
    if agent.filling is not None:
        return "filling", "good"
    return "ready", "good"


def other_problems(agent: AgentStatus) -> list[Problem]:
    """Return the problems that are not already shown as the reason of degraded searches."""
    degraded = agent.degraded
    return [
        problem
        for problem in agent.problems
        if degraded is None or (problem.code, problem.message) != (degraded.code, degraded.reason)
    ]


def status_lines(reply: StatusReply, now_ms: int, *, verbose: bool) -> list[Line]:
    """Return a status as lines: with all details, or one for each agent, plus problems."""
    pid, unit = (f"pid {reply.pid}", "") if verbose else ("", " RAM")
    head = dotted(
        (f"memd {reply.version}", "title"),
        f"up {span(reply.uptime_ms)}",
        pid,
        f"{size(reply.rss_bytes)}{unit}",
    )
    lines = [line(*head), *problem_lines(reply.problems), *_shown(_daemon_details(reply, now_ms), verbose)]
    for number, agent in enumerate(reply.agents):
        if verbose or not number:
            lines.append(BLANK)
        lines += _agent_lines(agent, now_ms, verbose)
    return lines if reply.agents else [*lines, BLANK, line(NO_AGENTS)]


def _shown(details: Iterator[Detail | Line], verbose: bool) -> Iterator[Line]:
    """Yield the lines of details; lines without a short form are shown with all details only."""
    for each in details:
        if isinstance(each, Line):
            if verbose:
                yield each
        elif pieces := each.pieces if verbose else each.short:
            yield row(each.label, *pieces) if each.label else line(*pieces, indent=LABEL_INDENT)


def _always(label: str, *pieces: Piece) -> Detail:
    """Return a row that both forms of the status have."""
    return Detail(label, pieces, pieces)


def _daemon_details(reply: StatusReply, now_ms: int) -> Iterator[Detail | Line]:
    """Yield the rows about the daemon: its agents, what they share, and its paths."""
    states = Counter(state_of(agent) for agent in reply.agents)
    tally = dotted(*((f"{number} {word}", style) for (word, style), number in states.items()))
    yield Detail("agents", tally or ("none",))
    ram = reply.memory
    if ram.total_budget:  # older daemons don't report it
        facts = dotted(
            f"{size(reply.rss_bytes + ram.models_bytes)} of {size(ram.total_budget)}",
            f"vectors {size(ram.vectors_bytes)} of {size(ram.vectors_budget)}",
            f"models {size(ram.models_bytes)} of {size(ram.models_budget)}",
            f"SQLite {size(ram.pages_bytes)} of {size(ram.pages_budget)}",
            "on battery" if ram.on_battery else None,
        )
        yield Detail("RAM", facts)
    for model in reply.models:
        yield from _model_details(model)
    if not reply.models:
        providers = dict.fromkeys(
            embedder(each.provider, each.model) for each in reply.agents if each.enabled
        )
        yield Detail("model", ("none loaded",), dotted(*providers) or ("none loaded",))
    for download in reply.downloads:
        yield _always("download", *_download(download))
    for account in reply.accounts:
        if account.state == "paused":
            yield _always(
                "paused",
                (f"{account.provider}: {account.reason}", "warn"),
                (since(account, now_ms), "quiet"),
                f"; next attempt {until(account.until_ms, now_ms)}",
            )
    if reply.tokens_today or reply.token_budget:
        of_budget = f" of a budget of {rough(reply.token_budget)}" if reply.token_budget else ""
        used = f"{rough(reply.tokens_today)} today{of_budget}"
        is_exhausted = 0 < reply.token_budget <= reply.tokens_today
        yield _always("tokens", (used, "warn")) if is_exhausted else Detail("tokens", (used,))
    is_loaded = reply.sqlite_vec[:1] in set("v0123456789")
    yield Detail("sqlite-vec", (reply.sqlite_vec if is_loaded else (reply.sqlite_vec, "warn"),))
    yield Detail("socket", dotted((reply.socket, "path"), count(reply.connections, "connection")))
    yield Detail("state", ((reply.state_dir, "path"),))
    yield Detail("config", ((reply.config_path, "path"),))


def _model_details(model: ModelStatus) -> Iterator[Detail]:
    """Yield the rows about a local model and its process."""
    facts: list[Piece | None] = [
        (model.model, "place"),
        model.state,
        size(model.rss_bytes) if model.rss_bytes else None,
        model.engine or None,
        f"{count(model.gpu_layers, 'layer')} on a GPU" if model.gpu_layers else None,
    ]
    process = (
        f"pid {model.pid}" if model.pid is not None else None,
        f"{model.queued} waiting" if model.queued else None,
        (f"restarted {count(model.restarts, 'time')}", "warn") if model.restarts else None,
    )
    yield Detail("model", dotted(*facts, *process), dotted(*facts))
    if model.path:
        yield Detail("", ((model.path, "path"),))
    if model.problem:
        yield _always("", (model.problem, "warn"))


def _download(download: DownloadStatus) -> tuple[Piece, ...]:
    """Return the progress of a model's download, or why it failed."""
    name = (download.ref, "place")
    if download.problem:
        return name, (f": {download.state}: {download.problem}", "warn")
    share = f" of {size(download.total)} ({percent(download.done, download.total)})" if download.total else ""
    return dotted(name, download.stage, f"{size(download.done)}{share}")


def _agent_lines(agent: AgentStatus, now_ms: int, verbose: bool) -> list[Line]:
    """Return the lines about one agent. If an agent's report failed, only the problem is shown."""
    name, state = (agent.agent, "title"), state_of(agent)
    if verbose:
        lines = [line(name, "  ", state)]
    else:
        facts = dotted(state, *_short_facts(agent, now_ms))
        fits = cells(agent.agent) < LABEL_INDENT
        lines = [Line(facts, LABEL_INDENT, name)] if fits else [line(name), Line(facts, LABEL_INDENT)]
    lines += [*problem_lines(other_problems(agent)), *degraded_lines(agent.degraded, now_ms)]
    if not agent.index_path:
        return lines
    lines += _shown(_agent_details(agent, now_ms), verbose)
    return [*lines, *(check_line(check) for check in agent.checks)] if agent.enabled else lines


def _short_facts(agent: AgentStatus, now_ms: int) -> tuple[Piece | None, ...]:
    """Return the size of an agent's index, its last sync, and its provider."""
    if not agent.enabled or not agent.index_path:
        return ()
    pending = [
        count(agent.files_pending, "file") if agent.files_pending else "",
        count(agent.chunks_pending, "chunk") if agent.chunks_pending else "",
    ]
    waiting = " and ".join(each for each in pending if each)
    return (
        count(agent.files, "file"),
        count(agent.chunks, "chunk"),
        count(agent.vectors, "vector"),
        f"{waiting} pending" if waiting else f"synced {ago(agent.last_sync_ms, now_ms)}",
        embedder(agent.provider, agent.model) or "keywords only",
    )


def _agent_details(agent: AgentStatus, now_ms: int) -> Iterator[Detail | Line]:
    """Yield the rows about an agent's index and settings."""
    yield Detail("workspace", ((agent.workspace, "path"),))
    if not agent.enabled:
        yield Detail("search", ("off: search.enabled is false",))
        return
    vectors = count(agent.vectors, "vector") + (f" of {agent.dims} dimensions" if agent.dims else "")
    yield Detail("indexed", dotted(count(agent.files, "file"), count(agent.chunks, "chunk"), vectors))
    waiting = f"waiting for {agent.waits_for}" if agent.waits_for else ""
    yield Detail("pending", _pending(agent, waiting), (waiting,) if waiting else ())
    yield Detail(
        "last sync", dotted(ago(agent.last_sync_ms, now_ms), "running now" if agent.syncing else None)
    )
    yield _watching(agent)
    yield Detail("sources", (", ".join(agent.sources) or "none",))
    yield from _session_details(agent)
    for source in agent.added:
        yield from _source_lines(source)
    if agent.remote is not None:
        first, *others = remote_lines(agent.remote, now_ms)
        yield Detail("remote", first.pieces, first.pieces if agent.remote.state == "offline" else ())
        yield from others
    provider = embedder(agent.provider, agent.model)
    used = dotted(agent.provider, (agent.model, "place"))
    yield Detail("provider", used if provider else ("none: keyword search only",))
    if agent.fallback is not None:
        yield _always("fallback", *fallback_pieces(agent.fallback, provider, now_ms))
    if agent.filling is not None:
        yield _always("filling", *filling_pieces(agent.filling, agent.space, provider))
    yield _vector_path(agent)
    size_of_index = size(agent.index_bytes)
    yield Detail("index", dotted((agent.index_path, "path"), size_of_index, f"generation {agent.generation}"))
    yield from _job_lines(agent.jobs, now_ms)
    if agent.outside:
        yield Detail("outside", dotted(f"{count(agent.outside, 'file')} with withheld lines", "memctl trust"))
    if agent.rejected:
        chunks = [
            (each.path, f":{each.start_line}-{each.end_line}: {each.reason}") for each in agent.rejected
        ]
        first, *others = listed("refused", "chunk", chunks)
        yield Detail("refused", (*first.pieces, ", keyword search only"), (*first.pieces, DETAILS))
        yield from others
    if agent.skipped:
        first, *others = skipped_lines(agent.skipped)
        yield Detail("skipped", first.pieces, (*first.pieces, DETAILS))
        yield from others


def _pending(agent: AgentStatus, waiting: str) -> tuple[Piece, ...]:
    """Return the files and chunks that wait to be indexed, and for what."""
    if not agent.files_pending and not agent.chunks_pending:
        return ("nothing",)
    return dotted(
        f"{count(agent.files_pending, 'file')} to read" if agent.files_pending else None,
        f"{count(agent.chunks_pending, 'chunk')} to embed" if agent.chunks_pending else None,
        f"oldest for {span(agent.oldest_pending_ms)}" if agent.oldest_pending_ms else None,
        waiting,
    )


def _watching(agent: AgentStatus) -> Detail:
    """Return how changed files are detected between searches."""
    words: dict[str, Piece] = {"events": "file events", "polling": ("polling", "warn")}
    facts = dotted(
        words.get(agent.watch, "off: the next search or sync finds changes"),
        (agent.watch_reason, "quiet"),
        f"sync every {agent.interval_minutes} min" if agent.interval_minutes else None,
    )
    is_polling = agent.watch == "polling"
    return Detail("watching", facts, (("polling: ", "warn"), agent.watch_reason) if is_polling else ())


def _vector_path(agent: AgentStatus) -> Detail:
    """Return how vectors are compared, and why; the names are the daemon's."""
    words = {"memory": "in RAM", "sqlite-vec": "with sqlite-vec", "scan": "by a scan of the index"}
    reason = f" ({agent.vector_path_reason})" if agent.vector_path_reason else ""
    path = (words.get(agent.vector_path, agent.vector_path) or "not searched", (reason, "quiet"))
    is_slow = agent.vector_path == "scan"
    short = (("compared by a scan of the index", "warn"), reason) if is_slow else ()
    return Detail("vectors", path if agent.vectors else ("none",), short)


def _session_details(agent: AgentStatus) -> Iterator[Detail | Line]:
    """Yield the number of an agent's transcripts and messages, if they are indexed."""
    sessions = agent.sessions
    if sessions is None:
        return
    stores = {"jsonl": "files", "sqlite": "OpenClaw's database"}
    facts = dotted(
        f"{count(sessions.transcripts, 'transcript')} with {count(sessions.messages, 'message')}",
        *(f"{number:,} in {stores.get(era, era)}" for era, number in sessions.stores.items() if number),
        f"{count(sessions.redactions, 'secret')} redacted" if sessions.redactions else None,
    )
    yield Detail("sessions", facts)
    yield from _left_out_lines(sessions.excluded)


def _left_out_lines(excluded: Mapping[str, int]) -> list[Line]:
    """Return the kinds of sessions that are not indexed, if there are any."""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(excluded.items()))
    return [line((f"not indexed: {kinds}", "quiet"), indent=LABEL_INDENT)] if kinds else []


def _source_lines(source: SourceStatus) -> list[Line]:
    """Return the numbers of a source of another program."""
    facts = dotted(
        count(source.files, "file"),
        f"{count(source.sessions, 'session')} with {count(source.messages, 'message')}"
        if source.kind == "transcripts"
        else None,
        size(source.bytes),
        f"{source.retained:,} deleted but kept ({size(source.retained_bytes)})" if source.retained else None,
        f"{count(source.redactions, 'secret')} redacted" if source.redactions else None,
        f"{source.unknown:,} unknown records" if source.unknown else None,
        f"work: {count(source.commands, 'command')}, {count(source.file_steps, 'file step')}, {size(source.work_bytes)}"
        if source.commands or source.file_steps
        else None,
    )
    return [row(source.name, *facts), *_left_out_lines(source.excluded), *problem_lines(source.problems)]


def _job_lines(jobs: list[BulkJob], now_ms: int) -> list[Line]:
    """Return the number of texts in batch jobs, and the progress of each job."""
    if not jobs:
        return []
    named = [
        line(
            *dotted(
                job.id,
                job.state,
                f"{job.done:,} of {count(job.texts, 'text')}",
                (f"submitted {ago(job.submitted_ms, now_ms)}", "quiet"),
            ),
            indent=LABEL_INDENT,
        )
        for job in jobs
    ]
    texts = sum(job.texts for job in jobs)
    return [row("batch jobs", f"{len(jobs):,} with {count(texts, 'text')}"), *first_few(named)]
