"""The lines of `memctl status`, short or with all details. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
        AccountStatus,
        AgentStatus,
        BulkJob,
        DownloadStatus,
        ModelStatus,
        Problem,
        RejectedText,
        SessionsStatus,
        SourceStatus,
        StatusReply,
    )


VECTOR_PATHS = {"memory": "in RAM", "sqlite-vec": "with sqlite-vec", "scan": "by a scan of the index"}
"""Text for the daemon's names of the three ways to compare vectors."""


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


def short_status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return a short status as lines: one for each agent, plus problems."""
    head = dotted(
        (f"memd {reply.version}", "title"), f"up {span(reply.uptime_ms)}", f"{size(reply.rss_bytes)} RAM"
    )
    lines = [line(*head), *problem_lines(reply.problems), *_short_supply_lines(reply, now_ms), BLANK]
    for agent in reply.agents:
        lines += [*_short_agent_lines(agent, now_ms), *_trouble_lines(agent, now_ms)]
    return lines if reply.agents else [*lines, line(NO_AGENTS)]


def _short_supply_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the loaded models, else the providers, and their problems."""
    lines = [line_ for model in reply.models for line_ in _short_model_lines(model)]
    if not reply.models:
        providers = dict.fromkeys(
            embedder(each.provider, each.model) for each in reply.agents if each.enabled
        )
        lines.append(row("model", *(dotted(*providers) or ("none loaded",))))
    lines += [download_line(each) for each in reply.downloads]
    lines += [paused_line(each, now_ms) for each in reply.accounts if each.state == "paused"]
    return lines + (token_lines(reply) if 0 < reply.token_budget <= reply.tokens_today else [])


def _short_model_lines(model: ModelStatus) -> list[Line]:
    """Return a local model's state, RAM and problem."""
    facts = dotted((model.model, "place"), model.state, size(model.rss_bytes) if model.rss_bytes else None)
    problem = [line((model.problem, "warn"), indent=LABEL_INDENT)] if model.problem else []
    return [row("model", *facts), *problem]


def _short_agent_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return an agent's line; a name wider than the labels has its own line above."""
    facts = [*dotted(state_of(agent), *_short_facts(agent, now_ms))]
    if cells(agent.agent) < LABEL_INDENT:
        return [Line(tuple(facts), LABEL_INDENT, (agent.agent, "title"))]
    return [line((agent.agent, "title")), Line(tuple(facts), LABEL_INDENT)]


def _short_facts(agent: AgentStatus, now_ms: int) -> list[Piece | None]:
    """Return the size of an agent's index, its last sync, and its provider."""
    if not agent.enabled or not agent.index_path:
        return []
    pending = [
        count(agent.files_pending, "file") if agent.files_pending else "",
        count(agent.chunks_pending, "chunk") if agent.chunks_pending else "",
    ]
    waiting = " and ".join(each for each in pending if each)
    return [
        count(agent.files, "file"),
        count(agent.chunks, "chunk"),
        count(agent.vectors, "vector"),
        f"{waiting} pending" if waiting else f"synced {ago(agent.last_sync_ms, now_ms)}",
        embedder(agent.provider, agent.model) or "keywords only",
    ]


def _trouble_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return an agent's problems with their hints, and the work in progress."""
    lines = [*problem_lines(other_problems(agent)), *degraded_lines(agent.degraded, now_ms)]
    if not agent.enabled or not agent.index_path:
        return lines
    lines += _change_lines(agent, now_ms)
    if agent.waits_for:
        lines.append(row("pending", f"waiting for {agent.waits_for}"))
    if agent.watch == "polling":
        lines.append(row("watching", ("polling: ", "warn"), agent.watch_reason))
    if agent.vector_path == "scan":
        reason = f" ({agent.vector_path_reason})" if agent.vector_path_reason else ""
        lines.append(row("vectors", ("compared by a scan of the index", "warn"), reason))
    if agent.remote is not None and agent.remote.state == "offline":
        lines += remote_lines(agent.remote, now_ms)[:1]
    if agent.rejected:
        lines.append(row("refused", (count(len(agent.rejected), "chunk"), "warn"), DETAILS))
    if agent.skipped:
        lines.append(row("skipped", (count(len(agent.skipped), "file"), "warn"), DETAILS))
    return lines + [check_line(check) for check in agent.checks]


def supply_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return what all agents share: RAM, models, downloads, paused accounts, tokens."""
    return [
        *_memory_lines(reply),
        *_model_lines(reply.models),
        *(download_line(each) for each in reply.downloads),
        *(paused_line(each, now_ms) for each in reply.accounts if each.state == "paused"),
        *token_lines(reply),
    ]


def _memory_lines(reply: StatusReply) -> list[Line]:
    """Return the RAM in use and its budget; older daemons don't report it."""
    ram = reply.memory
    if not ram.total_budget:
        return []
    total = f"{size(reply.rss_bytes + ram.models_bytes)} of {size(ram.total_budget)}"
    shares = (
        f"vectors {size(ram.vectors_bytes)} of {size(ram.vectors_budget)}",
        f"models {size(ram.models_bytes)} of {size(ram.models_budget)}",
        f"SQLite {size(ram.pages_bytes)} of {size(ram.pages_budget)}",
    )
    return [row("RAM", *dotted(total, *shares, "on battery" if ram.on_battery else None))]


def _model_lines(models: list[ModelStatus]) -> list[Line]:
    """Return each local model and its process."""
    if not models:
        return [row("model", "none loaded")]
    lines = []
    for model in models:
        facts = dotted(
            (model.model, "place"),
            model.state,
            size(model.rss_bytes) if model.rss_bytes else None,
            f"pid {model.pid}" if model.pid is not None else None,
            f"{model.queued} waiting" if model.queued else None,
            (f"restarted {count(model.restarts, 'time')}", "warn") if model.restarts else None,
        )
        lines.append(row("model", *facts))
        if model.path:
            lines.append(line((model.path, "path"), indent=LABEL_INDENT))
        if model.problem:
            lines.append(line((model.problem, "warn"), indent=LABEL_INDENT))
    return lines


def download_line(download: DownloadStatus) -> Line:
    """Return the progress of a model's download, or why it failed."""
    if download.problem:
        return row("download", (download.ref, "place"), (f": {download.state}: {download.problem}", "warn"))
    of_total = (
        f" of {size(download.total)} ({percent(download.done, download.total)})" if download.total else ""
    )
    return row(
        "download", *dotted((download.ref, "place"), download.stage, f"{size(download.done)}{of_total}")
    )


def paused_line(account: AccountStatus, now_ms: int) -> Line:
    """Return which account at a provider is paused, why, since when and until when."""
    return row(
        "paused",
        (f"{account.provider}: {account.reason}", "warn"),
        (since(account, now_ms), "quiet"),
        f"; next attempt {until(account.until_ms, now_ms)}",
    )


def token_lines(reply: StatusReply) -> list[Line]:
    """Return the tokens used today and their budget; nothing without use or budget."""
    if not reply.tokens_today and not reply.token_budget:
        return []
    of_budget = f" of a budget of {rough(reply.token_budget)}" if reply.token_budget else ""
    used = f"{rough(reply.tokens_today)} today{of_budget}"
    is_exhausted = 0 < reply.token_budget <= reply.tokens_today
    return [row("tokens", (used, "warn") if is_exhausted else used)]


def _provider(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return the embedding provider and its model."""
    if agent.provider in ("", "none"):
        return ("none: keyword search only",)
    return dotted(agent.provider, (agent.model, "place"))


def provider_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return the embedding provider, the fallback, and the vector space that is being filled."""
    return [row("provider", *_provider(agent)), *_change_lines(agent, now_ms)]


def _change_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return the fallback, and the vector space that is being filled."""
    lines, provider = list[Line](), embedder(agent.provider, agent.model)
    if agent.fallback is not None:
        lines.append(row("fallback", *fallback_pieces(agent.fallback, provider, now_ms)))
    if agent.filling is not None:
        lines.append(row("filling", *filling_pieces(agent.filling, agent.space, provider)))
    return lines


def job_lines(jobs: list[BulkJob], now_ms: int) -> list[Line]:
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


def refused_lines(refused: list[RejectedText]) -> list[Line]:
    """Return the chunks that the provider refuses to embed, and why."""
    if not refused:
        return []
    named = [
        line((each.path, "path"), f":{each.start_line}-{each.end_line}: {each.reason}", indent=LABEL_INDENT)
        for each in refused
    ]
    return [
        row("refused", (count(len(refused), "chunk"), "warn"), ", keyword search only"),
        *first_few(named),
    ]


def status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return a status with all details as lines."""
    lines = _daemon_lines(reply, now_ms)
    for agent in reply.agents:
        lines.append(BLANK)
        lines.extend(_agent_lines(agent, now_ms))
    return lines if reply.agents else [*lines, BLANK, line(NO_AGENTS)]


def _daemon_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the lines about the daemon itself."""
    is_loaded = reply.sqlite_vec[:1] in set("v0123456789")
    lines = [
        line(
            *dotted(
                (f"memd {reply.version}", "title"),
                f"up {span(reply.uptime_ms)}",
                f"pid {reply.pid}",
                size(reply.rss_bytes),
            )
        ),
        *problem_lines(reply.problems),
        row("agents", *_tally(reply.agents)),
    ]
    lines.extend(supply_lines(reply, now_ms))
    lines += [
        row("sqlite-vec", reply.sqlite_vec if is_loaded else (reply.sqlite_vec, "warn")),
        row("socket", *dotted((reply.socket, "path"), count(reply.connections, "connection"))),
        row("state", (reply.state_dir, "path")),
        row("config", (reply.config_path, "path")),
    ]
    return lines


def _tally(agents: list[AgentStatus]) -> tuple[Piece, ...]:
    """Return the number of agents in each state."""
    if not agents:
        return ("none",)
    states = Counter(state_of(agent) for agent in agents)
    return dotted(*((f"{number} {word}", style) for (word, style), number in states.items()))


def _agent_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return the lines about one agent: problems, index, settings.

    If an agent's report failed, only the problem is shown.
    """
    word, style = state_of(agent)
    lines = [
        line((agent.agent, "title"), "  ", (word, style)),
        *problem_lines(other_problems(agent)),
        *degraded_lines(agent.degraded, now_ms),
    ]
    if not agent.index_path:
        return lines
    lines.append(row("workspace", (agent.workspace, "path")))
    if not agent.enabled:
        return [*lines, row("search", "off: search.enabled is false")]
    lines += [
        row("indexed", *dotted(count(agent.files, "file"), count(agent.chunks, "chunk"), _vectors(agent))),
        row("pending", *_pending(agent)),
        row("last sync", *dotted(ago(agent.last_sync_ms, now_ms), "running now" if agent.syncing else None)),
        row("watching", *_watching(agent)),
        row("sources", ", ".join(agent.sources) or "none"),
        *_session_lines(agent.sessions),
        *(each for source in agent.added for each in _source_lines(source)),
        *(remote_lines(agent.remote, now_ms) if agent.remote is not None else ()),
        *provider_lines(agent, now_ms),
        row("vectors", *_vector_path(agent)),
        row(
            "index",
            *dotted((agent.index_path, "path"), size(agent.index_bytes), f"generation {agent.generation}"),
        ),
        *job_lines(agent.jobs, now_ms),
        *refused_lines(agent.rejected),
        *skipped_lines(agent.skipped),
        *(check_line(check) for check in agent.checks),
    ]
    return lines


def _vectors(agent: AgentStatus) -> str:
    """Return the number and size of an agent's vectors."""
    return count(agent.vectors, "vector") + (f" of {agent.dims} dimensions" if agent.dims else "")


def _pending(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return the files and chunks that wait to be indexed."""
    if not agent.files_pending and not agent.chunks_pending:
        return ("nothing",)
    return dotted(
        f"{count(agent.files_pending, 'file')} to read" if agent.files_pending else None,
        f"{count(agent.chunks_pending, 'chunk')} to embed" if agent.chunks_pending else None,
        f"oldest for {span(agent.oldest_pending_ms)}" if agent.oldest_pending_ms else None,
        f"waiting for {agent.waits_for}" if agent.waits_for else None,
    )


def _watching(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how changed files are detected between searches."""
    words: dict[str, Piece] = {
        "events": "file events",
        "polling": ("polling", "warn"),
    }
    return dotted(
        words.get(agent.watch, "off: the next search or sync finds changes"),
        (agent.watch_reason, "quiet") if agent.watch_reason else None,
        f"sync every {agent.interval_minutes} min" if agent.interval_minutes else None,
    )


def _session_lines(sessions: SessionsStatus | None) -> list[Line]:
    """Return the number of an agent's transcripts and messages, if they are indexed."""
    if sessions is None:
        return []
    stores = {"jsonl": "files", "sqlite": "OpenClaw's database"}
    facts = dotted(
        f"{count(sessions.transcripts, 'transcript')} with {count(sessions.messages, 'message')}",
        *(f"{number:,} in {stores.get(era, era)}" for era, number in sessions.stores.items() if number),
        f"{count(sessions.redactions, 'secret')} redacted" if sessions.redactions else None,
    )
    return [row("sessions", *facts), *_left_out_lines(sessions.excluded)]


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
    )
    return [row(source.name, *facts), *_left_out_lines(source.excluded), *problem_lines(source.problems)]


def _vector_path(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how vectors are compared, and why."""
    if not agent.vectors:
        return ("none",)
    path = VECTOR_PATHS.get(agent.vector_path, agent.vector_path) or "not searched"
    return (path, (f" ({agent.vector_path_reason})", "quiet")) if agent.vector_path_reason else (path,)
