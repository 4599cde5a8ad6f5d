"""Where vectors come from, as `memctl status` shows it: models, accounts at providers, and what is under way. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memd.cli.lines import (
    LABEL_INDENT,
    Line,
    Piece,
    dotted,
    embedder,
    fallback_pieces,
    filling_pieces,
    first_few,
    line,
    row,
    since,
)
from memd.cli.wording import ago, count, percent, rough, size, until

if TYPE_CHECKING:
    from memd_client.messages import (
        AccountStatus,
        AgentStatus,
        BulkJob,
        DownloadStatus,
        ModelStatus,
        RefusedText,
        StatusReply,
    )


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
