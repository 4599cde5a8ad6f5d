"""Checks of agents, from the daemon's status if it responds, else from the disk and the settings. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memd.cli.checks.installation import OK, WARNING, WRONG, Finding, first_paths
from memd.cli.lines import count, embedder, size, span

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus, SourceStatus, StatusReply

Report = dict[str, Any]

MINOR_PROBLEMS = frozenset({"openclaw_database", "memory_beyond_limits", "index_corrupt", "memory_conflicts"})
"""Problems that memd handled itself, or that affect part of a memory only."""

TRANSIENT_REASONS = frozenset({"vectors_pending"})
"""Reasons of a degraded search that end without action."""

LONG_PENDING_MS = 10 * 60_000
"""Files or chunks pending for longer are a warning; a large first index may take as long."""

INDEX_STATES = {
    "missing": (OK, "will be created at the first start", ""),
    "sound": (OK, "is sound", ""),
    "foreign": (OK, "was written by OpenClaw; memd adopts it at the first start", ""),
    "refused": (WRONG, "is not an index of memd; memd does not change it", "set store.path to another file"),
    "index_corrupt": (WRONG, "is damaged", "start the daemon: it quarantines and rebuilds the index"),
    "index_newer": (WRONG, "was written by a newer release", "upgrade memd, or run `mv {path} {path}.newer`"),
    "index_io": (WRONG, "cannot be read", "ls -l {path}"),
}
"""State of an index file in the report: state of the finding, text and fix."""


def check_memory(report: Report, indexes: Report, status: StatusReply | None) -> list[Finding]:
    """Return the findings of all agents."""
    rows = {row["agent"]: row for row in report.get("agents", ())}
    sound = {row["agent"]: row for row in indexes.get("indexes", ())}
    found: list[Finding] = []
    if status is None:
        for name, row in rows.items():
            found += _settings_findings(row) + _disk_findings(row) + _index_findings(name, sound)
        return found
    for agent in status.agents:
        row = rows.get(agent.agent, {})
        found += _daemon_findings(agent, row) + (_disk_findings(row) if agent.enabled else [])
    return found + _shared_findings(status)


def _area(agent: str) -> str:
    """Return the heading of an agent's findings."""
    return f"agent {agent}"


def _disk_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Return the findings on files without read permission and on copies of other programs' notes, if any."""
    found = [_imported(row["agent"], each) for each in row.get("imported", ())]
    unreadable = row.get("unreadable", ())
    if not unreadable:
        return found
    place = shlex.quote(row["workspace"])
    text = f"{count(len(unreadable), 'file')} cannot be read: {first_paths(unreadable)}"
    return [*found, Finding(_area(row["agent"]), "permissions", WRONG, text, f"chmod -R u+r {place}")]


def _imported(agent: str, folder: Report) -> Finding:
    """Return the finding on notes that an earlier release copied from a folder of another program."""
    area, only_here = _area(agent), folder["only_here"]
    text = f"{count(folder['files'], 'note')} in {folder['copies']}, imported from {folder['folder']}"
    if not folder["exists"]:
        return Finding(area, "imported", OK, f"{text}, which no longer exists")
    text += ": copies go stale"
    fix = "delete the copies"
    if only_here:
        text += f"; edited, or without their source: {first_paths(only_here)}"
        fix = "move those that are only here out of memory/imported, and delete the other copies"
    if not folder["is_source"]:
        path = f" --path {shlex.quote(folder['path'])}" if folder["path"] else ""
        fix = f"run `memctl sources add {folder['source']}{path} --agent {agent}`, then {fix}"
    return Finding(area, "imported", WARNING, text, fix)


def _settings_findings(row: Report) -> list[Finding]:
    """Return the findings from settings and files, while no daemon runs."""
    area = _area(row["agent"])
    found = [Finding(area, "settings", WRONG, each["message"], each["hint"]) for each in row["problems"]]
    if not row["enabled"]:
        return [*found, Finding(area, "search", OK, "off: search.enabled is false")]
    if row["workspace_missing"]:
        place = row["workspace"]
        fix = f"run `mkdir -p {shlex.quote(place)}`, or correct `workspace` in openclaw.json"
        found.append(Finding(area, "workspace", WRONG, f"{place} does not exist", fix))
    else:
        text = f"{row['workspace']}, {count(row['files'], 'memory file')}, {size(row['bytes'])}"
        found.append(Finding(area, "workspace", OK, text))
    found += _skipped(area, [(each["path"], each["reason"]) for each in row["skipped"]])
    problem, wanted = row["provider_problem"], row["provider"]
    if problem is None:
        text = (
            "none (turned off in the settings): keyword search only"
            if wanted == "none"
            else f"{wanted}, usable"
        )
        return [*found, Finding(area, "provider", OK, text)]
    state = WARNING if wanted == "auto" else WRONG
    return [
        *found,
        Finding(area, "provider", state, f"{problem['message']}; keyword search only", problem["hint"]),
    ]


def _skipped(area: str, files: list[tuple[str, str]]) -> list[Finding]:
    """Return the finding on files excluded from the index, if any."""
    if not files:
        return []
    names = first_paths([path for path, _ in files])
    text = f"{count(len(files), 'file')} not indexed, or only in part: {names}; the first: {files[0][1]}"
    return [Finding(area, "skipped", WARNING, text, "run `memctl status --json` for every reason")]


def _index_findings(agent: str, sound: Mapping[str, Report]) -> list[Finding]:
    """Return the finding on an agent's index file."""
    row = sound.get(agent)
    if row is None:
        return []
    state, words, fix = INDEX_STATES.get(
        row["state"], (WRONG, "cannot be used", "memctl logs --level warning")
    )
    path = row["path"]
    text = f"{path} {words}" + (f" ({row['detail']})" if row["detail"] else "")
    return [Finding(_area(agent), "index", state, text, fix.format(path=shlex.quote(path)))]


def _daemon_findings(agent: AgentStatus, row: Mapping[str, Any]) -> list[Finding]:
    area = _area(agent.agent)
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
    found += [_pending(area, agent), _provider(area, agent, row), _watching(area, agent)]
    found += [each for source in agent.added for each in _source(area, source)]
    found += _skipped(area, [(each.path, each.reason) for each in agent.skipped])
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
    return [Finding(area, name, OK, text)]


def _pending(area: str, agent: AgentStatus) -> Finding:
    """Return the finding on files and chunks that wait to be indexed."""
    if not agent.files_pending and not agent.chunks_pending:
        return Finding(area, "pending", OK, "nothing")
    text = f"{count(agent.files_pending, 'file')} to read, {count(agent.chunks_pending, 'chunk')} to embed"
    if agent.oldest_pending_ms <= LONG_PENDING_MS:
        return Finding(area, "pending", OK, text)
    text += f", the oldest for {span(agent.oldest_pending_ms)}"
    return Finding(area, "pending", WARNING, text, f"memctl index --agent {agent.agent}")


def _provider(area: str, agent: AgentStatus, row: Mapping[str, Any]) -> Finding:
    """Return whether vector search works as configured."""
    degraded = agent.degraded
    if degraded is not None and degraded.code not in TRANSIENT_REASONS:
        state = (
            WARNING if row.get("provider") == "auto" and degraded.code == "provider_unavailable" else WRONG
        )
        return Finding(
            area,
            "provider",
            state,
            f"{degraded.reason} ({degraded.code}); keyword search only",
            degraded.hint,
        )
    if agent.fallback is not None:
        text = f"{agent.fallback.provider} cannot be used ({agent.fallback.code}): {agent.fallback.reason}"
        return Finding(
            area, "provider", WARNING, f"{text}; {embedder(agent.provider, agent.model)} is used instead"
        )
    if degraded is not None:
        return Finding(area, "provider", OK, degraded.reason)
    provider = embedder(agent.provider, agent.model)
    return Finding(area, "provider", OK, provider or "none (turned off in the settings): keyword search only")


def _watching(area: str, agent: AgentStatus) -> Finding:
    """Return how changed files are detected between searches."""
    if agent.watch == "polling":
        text = f"polls the files: {agent.watch_reason}"
        return Finding(
            area,
            "watching",
            WARNING,
            text,
            "raise the limit that the reason names; searches are up to date either way",
        )
    return Finding(
        area, "watching", OK, "file events" if agent.watch == "events" else "turned off in the settings"
    )


def _shared_findings(status: StatusReply) -> list[Finding]:
    """Return the findings on models, downloads and accounts, which agents share."""
    found = [
        Finding("daemon", "model", WRONG, f"{model.model}: {model.problem}", "memctl logs --level warning")
        for model in status.models
        if model.problem and model.state in ("failed", "restarting")
    ]
    found += [
        Finding("daemon", "download", WARNING, f"{each.ref}: {each.problem}", f"memctl model pull {each.ref}")
        for each in status.downloads
        if each.problem
    ]
    found += [
        Finding(
            "daemon",
            "account",
            WARNING,
            f"{each.provider} is paused: {each.reason} ({each.code})",
            "memctl status",
        )
        for each in status.accounts
        if each.state == "paused"
    ]
    return found
