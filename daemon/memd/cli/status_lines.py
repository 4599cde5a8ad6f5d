"""What `memctl status` says of the daemon, its models and accounts, and each agent: an outline, or everything. Pure."""

from __future__ import annotations

from collections import Counter
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

if TYPE_CHECKING:
    from memd_client.messages import (
        AccountStatus,
        AgentStatus,
        BulkJob,
        DownloadStatus,
        ModelStatus,
        Problem,
        RefusedText,
        SessionsStatus,
        StatusReply,
    )


VECTOR_PATHS = {"memory": "in memory", "sqlite-vec": "by sqlite-vec", "scan": "by a scan of the index"}
"""How the daemon's names for the three ways to compare vectors read in a sentence."""


def state_of(agent: AgentStatus) -> tuple[str, str]:
    """Return the one word that matters most about an agent, and its style."""
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
    """Return the problems that the line on degradation doesn't tell already."""
    told = agent.degraded
    return [
        problem
        for problem in agent.problems
        if told is None or (problem.code, problem.message) != (told.code, told.reason)
    ]


def short_status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the outline of a status as lines: all is well if there is one for each agent and no more."""
    head = dotted(
        (f"memd {reply.version}", "title"), f"up {span(reply.uptime_ms)}", f"{size(reply.rss_bytes)} RAM"
    )
    lines = [line(*head), *problem_lines(reply.problems), *_short_supply_lines(reply, now_ms), BLANK]
    for agent in reply.agents:
        lines += [*_short_agent_lines(agent, now_ms), *_trouble_lines(agent, now_ms)]
    return lines if reply.agents else [*lines, line(NO_AGENTS)]


def _short_supply_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return where vectors come from: the loaded models, else the providers, and what keeps them from working."""
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
    """Return a local model's state and RAM, and why it doesn't work."""
    facts = dotted((model.model, "place"), model.state, size(model.rss_bytes) if model.rss_bytes else None)
    problem = [line((model.problem, "warn"), indent=LABEL_INDENT)] if model.problem else []
    return [row("model", *facts), *problem]


def _short_agent_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return an agent's line; a name that is wider than the labels has a line of its own above."""
    facts = [*dotted(state_of(agent), *_short_facts(agent, now_ms))]
    if cells(agent.agent) < LABEL_INDENT:
        return [Line(tuple(facts), LABEL_INDENT, (agent.agent, "title"))]
    return [line((agent.agent, "title")), Line(tuple(facts), LABEL_INDENT)]


def _short_facts(agent: AgentStatus, now_ms: int) -> list[Piece | None]:
    """Return what is indexed of an agent, how fresh it is, and how it is searched."""
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
    """Return what is wrong with an agent, each with its hint, and what is under way."""
    lines = [*problem_lines(other_problems(agent)), *degraded_lines(agent.degraded, now_ms)]
    if not agent.enabled or not agent.index_path:
        return lines
    who = embedder(agent.provider, agent.model)
    if agent.fallback is not None:
        lines.append(row("fallback", *fallback_pieces(agent.fallback, who, now_ms)))
    if agent.filling is not None:
        lines.append(row("filling", *filling_pieces(agent.filling, agent.space, who)))
    if agent.waits_for:
        lines.append(row("pending", f"waiting for {agent.waits_for}"))
    if agent.watch == "polling":
        lines.append(row("watching", ("by looking again and again: ", "warn"), agent.watch_reason))
    if agent.vector_path == "scan":
        reason = f" ({agent.vector_path_reason})" if agent.vector_path_reason else ""
        lines.append(row("vectors", ("compared by a scan of the index", "warn"), reason))
    if agent.refused:
        lines.append(row("refused", (count(len(agent.refused), "chunk"), "warn"), DETAILS))
    if agent.skipped:
        lines.append(row("skipped", (count(len(agent.skipped), "file"), "warn"), DETAILS))
    return lines + [check_line(check) for check in agent.checks]


def supply_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return what all agents share: models, downloads, accounts that aren't asked now, tokens bought."""
    return [
        *_memory_lines(reply),
        *_model_lines(reply.models),
        *(download_line(each) for each in reply.downloads),
        *(paused_line(each, now_ms) for each in reply.accounts if each.state == "paused"),
        *token_lines(reply),
    ]


def _memory_lines(reply: StatusReply) -> list[Line]:
    """Return what is held in memory of what may be; an older daemon doesn't say."""
    held = reply.memory
    if not held.total_budget:
        return []
    all_of_it = f"{size(reply.rss_bytes + held.models_bytes)} of {size(held.total_budget)}"
    shares = (
        f"vectors {size(held.vectors_bytes)} of {size(held.vectors_budget)}",
        f"models {size(held.models_bytes)} of {size(held.models_budget)}",
        f"SQLite {size(held.pages_bytes)} of {size(held.pages_budget)}",
    )
    return [row("memory", *dotted(all_of_it, *shares, "on battery" if held.on_battery else None))]


def _model_lines(models: list[ModelStatus]) -> list[Line]:
    """Return each local model and the process that holds it."""
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
    """Return how far a model's download is, or why it ended."""
    if download.problem:
        return row("download", (download.ref, "place"), (f": {download.state}: {download.problem}", "warn"))
    of_total = (
        f" of {size(download.total)} ({percent(download.done, download.total)})" if download.total else ""
    )
    return row(
        "download", *dotted((download.ref, "place"), download.stage, f"{size(download.done)}{of_total}")
    )


def paused_line(account: AccountStatus, now_ms: int) -> Line:
    """Return which account at a provider isn't asked now, why, since when and until when."""
    return row(
        "paused",
        (f"{account.provider}: {account.reason}", "warn"),
        (since(account, now_ms), "quiet"),
        f"; asked again {until(account.until_ms, now_ms)}",
    )


def token_lines(reply: StatusReply) -> list[Line]:
    """Return what was bought today of what may be, where anything was or a limit is set."""
    if not reply.tokens_today and not reply.token_budget:
        return []
    of_budget = f" of a budget of {rough(reply.token_budget)}" if reply.token_budget else ""
    spent = f"{rough(reply.tokens_today)} today{of_budget}"
    is_spent = 0 < reply.token_budget <= reply.tokens_today
    return [row("tokens", (spent, "warn") if is_spent else spent)]


def _provider(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return who embeds, and with which model."""
    if agent.provider in ("", "none"):
        return ("none: keyword search only",)
    return dotted(agent.provider, (agent.model, "place"))


def provider_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return who embeds, and what stands between that provider and the one that is wanted."""
    lines = [row("provider", *_provider(agent))]
    who = embedder(agent.provider, agent.model)
    if agent.fallback is not None:
        lines.append(row("fallback", *fallback_pieces(agent.fallback, who, now_ms)))
    if agent.filling is not None:
        lines.append(row("filling", *filling_pieces(agent.filling, agent.space, who)))
    return lines


def job_lines(jobs: list[BulkJob], now_ms: int) -> list[Line]:
    """Return how many texts are with a provider's batch API, and how far each job is."""
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


def refused_lines(refused: list[RefusedText]) -> list[Line]:
    """Return the chunks no vector can be had for, and why."""
    if not refused:
        return []
    named = [
        line((each.path, "path"), f":{each.start_line}-{each.end_line}: {each.reason}", indent=LABEL_INDENT)
        for each in refused
    ]
    found = "found by its words alone" if len(refused) == 1 else "found by their words alone"
    return [row("refused", (count(len(refused), "chunk"), "warn"), f", {found}"), *first_few(named)]


def status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return everything a status says as lines; `short_status_lines` returns the outline."""
    lines = _daemon_lines(reply, now_ms)
    for agent in reply.agents:
        lines.append(BLANK)
        lines.extend(_agent_lines(agent, now_ms))
    return lines if reply.agents else [*lines, BLANK, line(NO_AGENTS)]


def _daemon_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the head of a status: the daemon itself."""
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
    """Return how many agents are in which state."""
    if not agents:
        return ("none",)
    states = Counter(state_of(agent) for agent in agents)
    return dotted(*((f"{number} {word}", style) for (word, style), number in states.items()))


def _agent_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return one agent's memory: what is wrong, what is there, how it is searched.

    An agent whose report failed has only the problem to tell.
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
        return [*lines, row("search", "off: search.enabled is false for this agent")]
    lines += [
        row("indexed", *dotted(count(agent.files, "file"), count(agent.chunks, "chunk"), _vectors(agent))),
        row("pending", *_pending(agent)),
        row("last sync", *dotted(ago(agent.last_sync_ms, now_ms), "running now" if agent.syncing else None)),
        row("watching", *_watching(agent)),
        row("sources", ", ".join(agent.sources) or "none"),
        *_session_lines(agent.sessions),
        *provider_lines(agent, now_ms),
        row("vectors", *_vector_path(agent)),
        row("index", *_index_file(agent)),
        *job_lines(agent.jobs, now_ms),
        *refused_lines(agent.refused),
        *skipped_lines(agent.skipped),
        *(check_line(check) for check in agent.checks),
    ]
    return lines


def _vectors(agent: AgentStatus) -> str:
    """Return how many vectors of which size an agent has."""
    return count(agent.vectors, "vector") + (f" of {agent.dims} dimensions" if agent.dims else "")


def _pending(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return what is known to have changed and isn't indexed yet."""
    if not agent.files_pending and not agent.chunks_pending:
        return ("nothing",)
    return dotted(
        f"{count(agent.files_pending, 'file')} to read" if agent.files_pending else None,
        f"{count(agent.chunks_pending, 'chunk')} to embed" if agent.chunks_pending else None,
        f"the oldest for {span(agent.oldest_pending_ms)}" if agent.oldest_pending_ms else None,
        f"waiting for {agent.waits_for}" if agent.waits_for else None,
    )


def _watching(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how changes are noticed between searches."""
    words: dict[str, Piece] = {
        "events": "by the system's file events",
        "polling": ("by looking again and again", "warn"),
    }
    return dotted(
        words.get(agent.watch, "off: changes are found by the next search or sync"),
        (agent.watch_reason, "quiet") if agent.watch_reason else None,
        f"synced every {agent.interval_minutes} min" if agent.interval_minutes else None,
    )


def _session_lines(sessions: SessionsStatus | None) -> list[Line]:
    """Return how an agent's transcripts are, where they are memory."""
    if sessions is None:
        return []
    eras = {"jsonl": "files", "sqlite": "OpenClaw's database"}
    facts = dotted(
        f"{count(sessions.transcripts, 'transcript')} with {count(sessions.messages, 'message')}",
        *(f"{number:,} in {eras.get(era, era)}" for era, number in sessions.eras.items() if number),
        f"{count(sessions.redactions, 'secret')} left out" if sessions.redactions else None,
    )
    lines = [row("sessions", *facts)]
    if sessions.left_out:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(sessions.left_out.items()))
        lines.append(line((f"no memory: {kinds}", "quiet"), indent=LABEL_INDENT))
    return lines


def _vector_path(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how vectors are compared, and why that way."""
    if not agent.vectors:
        return ("none",)
    path = VECTOR_PATHS.get(agent.vector_path, agent.vector_path) or "not searched"
    return (path, (f" ({agent.vector_path_reason})", "quiet")) if agent.vector_path_reason else (path,)


def _index_file(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return where an agent's index is, and how big."""
    return dotted((agent.index_path, "path"), size(agent.index_bytes), f"generation {agent.generation}")
