"""Agents: by what the daemon says where one answers, else by what the disk and the settings tell. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memd.cli.checks.installation import OK, WARNING, WRONG, Finding, first_of
from memd.cli.lines import count, embedder, size, span

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus, StatusReply

Report = dict[str, Any]

NOTICES = frozenset({"openclaw_database", "memory_beyond_limits", "index_corrupt"})
"""Problems of a status that tell what was done about them, or cost but a part of memory."""

PASSING = frozenset({"vectors_pending"})
"""Reasons of a degraded search that pass by themselves, with nothing wrong."""

LONG_PENDING_MS = 10 * 60_000
"""What waits for longer than this asks for a look: a large first index may take as long."""

STATES_OF_INDEX = {
    "missing": (OK, "is made at the first start", ""),
    "sound": (OK, "is sound", ""),
    "foreign": (OK, "was written by OpenClaw; it is taken over at the first start", ""),
    "refused": (WRONG, "is no index of memd; it is left as it is", "Set store.path to another file."),
    "index_corrupt": (WRONG, "is damaged", "Nothing to do: the next start sets it aside and rebuilds it."),
    "index_newer": (WRONG, "was written by a newer release", "Upgrade memd, or: mv {path} {path}.newer"),
    "index_io": (WRONG, "can't be read", "ls -l {path}"),
}
"""What the engine says of an index file: state of the finding, words, and the way out."""


def check_memory(report: Report, indexes: Report, status: StatusReply | None) -> list[Finding]:
    """Return how every agent's memory is."""
    rows = {row["agent"]: row for row in report.get("agents", ())}
    sound = {row["agent"]: row for row in indexes.get("indexes", ())}
    found: list[Finding] = []
    if status is None:
        for name, row in rows.items():
            found += _of_settings(row) + _of_disk(row) + _of_index(name, sound)
        return found
    for agent in status.agents:
        row = rows.get(agent.agent, {})
        found += _of_daemon(agent, row) + (_of_disk(row) if agent.enabled else [])
    return found + _of_supply(status)


def _area(agent: str) -> str:
    """Return the group an agent's findings are shown in."""
    return f"agent {agent}"


def _of_disk(row: Mapping[str, Any]) -> list[Finding]:
    """Return what the files tell, whoever indexes them."""
    unreadable = row.get("unreadable", ())
    if not unreadable:
        return []
    place = shlex.quote(row["workspace"])
    text = f"{count(len(unreadable), 'file')} can't be read: {first_of(unreadable)}"
    return [Finding(_area(row["agent"]), "permissions", WRONG, text, f"chmod -R u+r {place}")]


def _of_settings(row: Report) -> list[Finding]:
    """Return what settings and files tell of an agent while no daemon runs."""
    area = _area(row["agent"])
    found = [Finding(area, "settings", WRONG, each["message"], each["hint"]) for each in row["problems"]]
    if not row["enabled"]:
        return [*found, Finding(area, "search", OK, "off: search.enabled is false")]
    if row["workspace_missing"]:
        place = row["workspace"]
        fix = f"mkdir -p {shlex.quote(place)}, or correct `workspace` in openclaw.json"
        found.append(Finding(area, "workspace", WRONG, f"{place} does not exist", fix))
    else:
        text = f"{row['workspace']}, {count(row['files'], 'memory file')}, {size(row['bytes'])}"
        found.append(Finding(area, "workspace", OK, text))
    found += _skipped(area, [(each["path"], each["reason"]) for each in row["skipped"]])
    problem, wanted = row["provider_problem"], row["provider"]
    if problem is None:
        text = "off by settings: search by words" if wanted == "none" else f"{wanted} can be used"
        return [*found, Finding(area, "provider", OK, text)]
    state = WARNING if wanted == "auto" else WRONG
    return [
        *found,
        Finding(area, "provider", state, f"{problem['message']}; words are searched", problem["hint"]),
    ]


def _skipped(area: str, files: list[tuple[str, str]]) -> list[Finding]:
    """Return what files are left out, if any, by path and reason."""
    if not files:
        return []
    names = first_of([path for path, _ in files])
    text = f"{count(len(files), 'file')} left out, wholly or in part: {names}. The first: {files[0][1]}"
    return [Finding(area, "skipped", WARNING, text, "memctl status --json has the reason of each.")]


def _of_index(agent: str, sound: Mapping[str, Report]) -> list[Finding]:
    """Return how an agent's index file is."""
    row = sound.get(agent)
    if row is None:
        return []
    state, words, fix = STATES_OF_INDEX.get(row["state"], (WRONG, "can't be used", "See the log."))
    path = row["path"]
    text = f"{path} {words}" + (f" ({row['detail']})" if row["detail"] else "")
    return [Finding(_area(agent), "index", state, text, fix.format(path=shlex.quote(path)))]


def _of_daemon(agent: AgentStatus, row: Mapping[str, Any]) -> list[Finding]:
    area = _area(agent.agent)
    found = [
        Finding(area, "problem", WARNING if each.code in NOTICES else WRONG, each.message, each.hint)
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
    found += _skipped(area, [(each.path, each.reason) for each in agent.skipped])
    if agent.refused:
        text = f"{count(len(agent.refused), 'chunk')} refused by the provider, found by words alone"
        found.append(Finding(area, "refused", WARNING, text, f"memctl status --agent {agent.agent}"))
    for check in agent.checks:
        # Without vectors yet, and with a provider that fails, the lines above say so already.
        is_told = check.name == "vectors" or (check.name == "embeddings" and agent.degraded is not None)
        if not check.ok and not is_told:
            fix = f"memctl status --deep --agent {agent.agent}; memctl logs --level warning"
            found.append(Finding(area, check.name, WRONG, check.detail, fix))
    return found


def _pending(area: str, agent: AgentStatus) -> Finding:
    """Return what is not indexed yet."""
    if not agent.files_pending and not agent.chunks_pending:
        return Finding(area, "pending", OK, "nothing")
    text = f"{count(agent.files_pending, 'file')} to read, {count(agent.chunks_pending, 'chunk')} to embed"
    if agent.oldest_pending_ms <= LONG_PENDING_MS:
        return Finding(area, "pending", OK, text)
    text += f", the oldest for {span(agent.oldest_pending_ms)}"
    return Finding(area, "pending", WARNING, text, f"memctl index --agent {agent.agent}")


def _provider(area: str, agent: AgentStatus, row: Mapping[str, Any]) -> Finding:
    """Return whether search by meaning works as it is wanted."""
    told = agent.degraded
    if told is not None and told.code not in PASSING:
        state = WARNING if row.get("provider") == "auto" and told.code == "provider_unavailable" else WRONG
        return Finding(area, "provider", state, f"{told.reason} ({told.code}); words are searched", told.hint)
    if agent.fallback is not None:
        text = f"{agent.fallback.provider} can't be used ({agent.fallback.code}): {agent.fallback.reason}"
        return Finding(
            area, "provider", WARNING, f"{text}; {embedder(agent.provider, agent.model)} stands in"
        )
    if told is not None:
        return Finding(area, "provider", OK, told.reason)
    who = embedder(agent.provider, agent.model)
    return Finding(area, "provider", OK, who or "off by settings: search by words")


def _watching(area: str, agent: AgentStatus) -> Finding:
    """Return how changes are noticed between searches."""
    if agent.watch == "polling":
        text = f"files are looked at again and again: {agent.watch_reason}"
        return Finding(
            area, "watching", WARNING, text, "Searches are as fresh either way; the reason names the limit."
        )
    return Finding(area, "watching", OK, "by file events" if agent.watch == "events" else "off by settings")


def _of_supply(status: StatusReply) -> list[Finding]:
    """Return what is wrong with models, downloads and accounts, which agents share."""
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
            f"{each.provider} isn't asked: {each.reason} ({each.code})",
            "memctl status",
        )
        for each in status.accounts
        if each.state == "paused"
    ]
    return found
