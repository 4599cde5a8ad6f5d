"""Checks of agents by the daemon's status, or by the report if it does not respond. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memd.service.checks.finding import OK, WARNING, WRONG, Finding, first_paths, load_findings
from memd.system.units import count, embedder, size, span

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus, SourceStatus, StatusReply

Report = dict[str, Any]

MINOR_PROBLEMS = frozenset({"openclaw_database", "memory_beyond_limits", "index_corrupt", "memory_conflicts"})
"""Problems that memd handled itself, or that affect part of a memory only."""

TRANSIENT_REASONS = frozenset({"vectors_pending"})
"""Reasons of a degraded search that end without action."""

MAX_SHOWN_TYPES = 5
"""Unknown types of records that are named for each source."""

LONG_PENDING_MS = 10 * 60_000
"""Files or chunks pending for longer are a warning; a large first index may take as long."""


def check_agents(report: Report, status: StatusReply | None) -> list[Finding]:
    """Return the findings of all agents: from the daemon's status, or from the report without a daemon."""
    rows = {row["agent"]: row for row in report.get("agents", ())}
    found: list[Finding] = []
    if status is None:
        for row in rows.values():
            found += load_findings([*row["settings"], *row["notes"]])
        return found
    for agent in status.agents:
        row = rows.get(agent.agent, {})
        found += _daemon_findings(agent, row.get("provider", "")) + load_findings(row.get("notes", ()))
    return found + _shared_findings(status)


def skipped_findings(area: str, files: list[tuple[str, str]]) -> list[Finding]:
    """Return the finding on files excluded from the index, if any."""
    if not files:
        return []
    names = first_paths([path for path, _ in files])
    text = f"{count(len(files), 'file')} not indexed, or only in part: {names}; the first: {files[0][1]}"
    return [Finding(area, "skipped", WARNING, text, "run `memctl status --json` for every reason")]


def _daemon_findings(agent: AgentStatus, configured: str) -> list[Finding]:
    """Return the findings on an agent whose settings name a provider."""
    area = f"agent {agent.agent}"
    found = [
        Finding(area, "problem", WARNING if each.code in MINOR_PROBLEMS else WRONG, each.message, each.hint)
        for each in agent.problems
        if agent.degraded is None or each.message != agent.degraded.reason
    ]
    if not agent.enabled:
        return [*found, Finding(area, "search", OK, "off: search.enabled is false")]
    if not agent.index_path:
        return found
    text = f"{count(agent.files, 'file')}, {count(agent.chunks, 'chunk')}, {count(agent.vectors, 'vector')}"
    found.append(Finding(area, "index", OK, f"{text}, {size(agent.index_bytes)}"))
    found += [_pending(area, agent), _provider(area, agent, configured), _watching(area, agent)]
    found += [each for source in agent.added for each in _source(area, source)]
    found += skipped_findings(area, [(each.path, each.reason) for each in agent.skipped])
    if agent.rejected:
        text = f"{count(len(agent.rejected), 'chunk')} refused by the provider; found by keyword search only"
        found.append(Finding(area, "refused", WARNING, text, f"memctl status --agent {agent.agent}"))
    for check in agent.checks:
        # Missing vectors and a failing provider are reported by the findings above.
        is_reported = check.name == "vectors" or (check.name == "embeddings" and agent.degraded is not None)
        if not check.ok and not is_reported:
            fix = f"memctl status --deep --agent {agent.agent}; memctl logs --level warning"
            found.append(Finding(area, check.name, WRONG, check.detail, fix))
    return found


def _source(area: str, source: SourceStatus) -> list[Finding]:
    """Return the findings on a source of another program."""
    name = f"source {source.name}"
    found = [Finding(area, name, WRONG, each.message, each.hint) for each in source.problems]
    if found:
        return found
    if not source.files and not source.retained:
        places = ", ".join(source.locations) or "no place is known"
        fix = f"run `memctl sources remove {source.name}`, or correct its path in memd.toml"
        return [Finding(area, name, WARNING, f"nothing found: {places}", fix)]
    what = "session" if source.kind == "transcripts" else "note"
    text = count(source.files, what)
    if source.excluded:
        text += f", and {count(sum(source.excluded.values()), what)} of agents or without a person left out"
    if source.unknown:
        text += f"; {count(source.unknown, 'record')} of unknown types or broken skipped"
    return [Finding(area, name, OK, text), *_unknown_types(area, source)]


def _unknown_types(area: str, source: SourceStatus) -> list[Finding]:
    """Return the finding on records of unknown types, each type with the newest release that wrote one."""
    if not source.unknown_types:
        return []
    shown, title = [], f"{source.title} "
    for kind in source.unknown_types[:MAX_SHOWN_TYPES]:
        release = f", {title}{kind.release}" if kind.release else ""
        title = "" if release else title
        shown.append(f"{kind.name or 'no name'} ({kind.records:,}{release})")
    if len(source.unknown_types) > MAX_SHOWN_TYPES:
        shown.append(f"{len(source.unknown_types) - MAX_SHOWN_TYPES:,} more")
    total = count(sum(kind.records for kind in source.unknown_types), "record")
    text = f"{source.name}: {total} of unknown types: {', '.join(shown)}"
    fix = "upgrade memd; if its newest release shows this too, report the line"
    return [Finding(area, f"source {source.name}", WARNING, text, fix)]


def _pending(area: str, agent: AgentStatus) -> Finding:
    """Return the finding on files and chunks that wait to be indexed."""
    if not agent.files_pending and not agent.chunks_pending:
        return Finding(area, "pending", OK, "nothing")
    text = f"{count(agent.files_pending, 'file')} to read, {count(agent.chunks_pending, 'chunk')} to embed"
    if agent.oldest_pending_ms <= LONG_PENDING_MS:
        return Finding(area, "pending", OK, text)
    text += f", the oldest for {span(agent.oldest_pending_ms)}"
    return Finding(area, "pending", WARNING, text, f"memctl index --agent {agent.agent}")


def _provider(area: str, agent: AgentStatus, configured: str) -> Finding:
    """Return whether vector search works as configured."""
    degraded, name = agent.degraded, embedder(agent.provider, agent.model)
    if degraded is not None and degraded.code not in TRANSIENT_REASONS:
        is_optional = configured == "auto" and degraded.code == "provider_unavailable"
        text = f"{degraded.reason} ({degraded.code}); keyword search only"
        return Finding(area, "provider", WARNING if is_optional else WRONG, text, degraded.hint)
    if agent.fallback is not None:
        text = f"{agent.fallback.provider} cannot be used ({agent.fallback.code}): {agent.fallback.reason}"
        return Finding(area, "provider", WARNING, f"{text}; {name} is used instead")
    if degraded is not None:
        return Finding(area, "provider", OK, degraded.reason)
    return Finding(area, "provider", OK, name or "none (turned off in the settings): keyword search only")


def _watching(area: str, agent: AgentStatus) -> Finding:
    """Return how changed files are detected between searches."""
    if agent.watch == "polling":
        fix = "raise the limit that the reason names; searches are up to date either way"
        return Finding(area, "watching", WARNING, f"polls the files: {agent.watch_reason}", fix)
    text = "file events" if agent.watch == "events" else "turned off in the settings"
    return Finding(area, "watching", OK, text)


def _shared_findings(status: StatusReply) -> list[Finding]:
    """Return the findings on models, downloads and accounts, which agents share."""
    rows = [
        ("model", WRONG, f"{model.model}: {model.problem}", "memctl logs --level warning")
        for model in status.models
        if model.problem and model.state in ("failed", "restarting")
    ]
    rows += [
        ("model", WARNING, f"{model.model}: {model.problem}", "see docs/local-models.md")
        for model in status.models
        if model.problem and model.state == "ready"
    ]
    rows += [
        ("download", WARNING, f"{each.ref}: {each.problem}", f"memctl model pull {each.ref}")
        for each in status.downloads
        if each.problem
    ]
    rows += [
        ("account", WARNING, f"{each.provider} is paused: {each.reason} ({each.code})", "memctl status")
        for each in status.accounts
        if each.state == "paused"
    ]
    return [Finding("daemon", *row) for row in rows]
