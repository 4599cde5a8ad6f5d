"""Runs generated queries against a daemon, and prepares the private daemon of `--compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memd.cli.arguments import HintedError
from memd.cli.evaluation.outcomes import QueryOutcome, judge
from memd.cli.evaluation.queries import EvalQuery
from memd.cli.evaluation.settings import KEYS_HINT, LOCAL_PROVIDERS

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import AgentStatus, Problem, Progress, SearchReply, StatusReply


@dataclass(frozen=True, slots=True)
class Measurement:
    """The outcomes of all queries, and how they were searched for: the modes and the embedder of the last reply."""

    outcomes: list[QueryOutcome]
    modes: list[str]
    provider: str
    model: str


def agent_status(status: StatusReply, agent: str) -> AgentStatus:
    """Return the row of an agent, which exists."""
    return next(each for each in status.agents if each.agent == agent)


def remote_provider(state: AgentStatus | SearchReply) -> str:
    """Return the provider outside of this machine that a query may be sent to; empty if there is none."""
    names = [state.provider]
    names += [each.provider for each in (state.filling, state.fallback) if each is not None]
    return next((name for name in names if name not in LOCAL_PROVIDERS), "")


def measure(
    client: Client,
    agent: str,
    queries: Sequence[EvalQuery],
    *,
    keywords_only: bool,
    allow_remote: bool,
    show: Callable[[int, int], None],
) -> Measurement:
    """Run queries one after the other.

    Unless `allow_remote`, the rest are searched for by keywords alone if a reply names a provider outside of this
    machine, which the next query would be sent to.
    """
    outcomes: list[QueryOutcome] = []
    modes: set[str] = set()
    provider = model = ""
    for done, query in enumerate([queries[0], *queries]):
        reply = client.search(query.text, agent=agent, lexical_only=keywords_only)
        if not allow_remote and remote_provider(reply):
            keywords_only = True
        if done:  # the first search may load the model
            outcomes.append(judge(query, reply))
            modes.add(reply.mode)
            show(done, len(queries))
        if reply.mode != "keyword":
            provider, model = reply.provider, reply.model
    return Measurement(outcomes, sorted(modes), provider, model)


def prepare(
    client: Client, agent: str, settings: Mapping[str, Any], on_progress: Callable[[Progress], None]
) -> None:
    """Check the settings of a private daemon, and fill its index and vectors."""
    status = client.status(deep=True)
    _check_keys(status, agent, settings)
    _raise_first([*agent_status(status, agent).problems, *status.problems], agent, settings)
    (indexed,) = client.index(agent=agent, on_progress=on_progress).agents
    if indexed.error is not None:
        raise HintedError(f"--compare: {indexed.error.message}", indexed.error.hint)
    after = agent_status(client.status(agent=agent), agent)
    if settings.get("provider") != "none" and after.degraded is not None:
        raise HintedError(f"--compare: {after.degraded.reason}", after.degraded.hint)


def _check_keys(status: StatusReply, agent: str, settings: Mapping[str, Any]) -> None:
    """Raise if a key of the settings does not exist."""
    unknown = set((status.installation or {}).get("daemon_config", {}).get("unknown_keys", ()))
    for key in settings:
        parts = f"agents.{agent}.search.{key}".split(".")
        prefixes = {".".join(parts[:size]) for size in range(1, len(parts) + 1)}
        if unknown & prefixes:
            raise HintedError(f"--compare: there is no setting {key[:80]}", KEYS_HINT)


def _raise_first(problems: Sequence[Problem], agent: str, settings: Mapping[str, Any]) -> None:
    """Raise the first problem with a value of the settings."""
    for key in settings:
        place = f": agents.{agent}.search.{key}"
        for problem in problems:
            _, sign, what = problem.message.partition(place)
            if sign and what[:1] in (":", "["):
                raise HintedError(f"--compare {key}{what}", KEYS_HINT)
