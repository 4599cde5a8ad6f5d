"""Numbers in the docs are those of the code."""

from __future__ import annotations

import importlib
import re
from typing import Any

import msgspec
import pytest

from tests.support.tree import DOCS

MIB = 1024 * 1024

NUMBERS: tuple[tuple[str, str, str, float], ...] = (
    (
        "configuration.md",
        r"`normalized` uses ([\d.]+) unless",
        "memd.search.rank.fusion:DEFAULT_VECTOR_WEIGHT",
        1,
    ),
    (
        "configuration.md",
        r"`sync.watchDebounceMs` [^`]+ `(\d+)`",
        "memd.settings.schema:Sync.watch_debounce_ms",
        1,
    ),
    ("configuration.md", r"full check every (\w+) minutes", "memd.sync.schedule:FULL_SYNC_INTERVAL_S", 60),
    ("protocol.md", r"open connections \| ([\d,]+) \|", "memd.rpc.limits:Limits.connections", 1),
    ("protocol.md", r"connecting to `hello` \| (\d+) s", "memd.rpc.limits:Limits.hello_s", 1),
    ("protocol.md", r"without a request in flight \| (\d+) minutes", "memd.rpc.limits:Limits.idle_s", 60),
    ("protocol.md", r"first byte of a frame to its last \| (\d+) s", "memd.rpc.limits:Limits.frame_s", 1),
    ("protocol.md", r"\| a frame \| (\d+) MiB", "memd_client.framing:MAX_FRAME_BYTES", MIB),
    ("protocol.md", r"incomplete frames [^|]+\| (\d+) MiB", "memd.rpc.limits:Limits.unfinished_bytes", MIB),
    ("protocol.md", r"inside of lists and maps \| ([\d,]+) \|", "memd_client.framing:MAX_VALUES", 1),
    (
        "protocol.md",
        r"flight per connection \| (\d+) \|",
        "memd.rpc.limits:Limits.requests_per_connection",
        1,
    ),
    ("protocol.md", r"flight in all connections \| ([\d,]+) \|", "memd.rpc.limits:Limits.requests", 1),
    ("protocol.md", r"replies of a client \| (\d+) MiB", "memd.rpc.limits:Limits.outgoing_bytes", MIB),
    (
        "protocol.md",
        r"replies of all clients together \| (\d+) MiB",
        "memd.rpc.limits:Limits.backlog_bytes",
        MIB,
    ),
    ("protocol.md", r"does not read a waiting reply \| (\d+) s", "memd.rpc.limits:Limits.stall_s", 1),
    ("protocol.md", r"`call_tool` together (\w+) run", "memd.rpc.limits:Limits.running", 1),
    ("protocol.md", r"starts immediately, up to (\d+) of them", "memd.rpc.limits:Limits.running_most", 1),
    ("protocol.md", r"at most every (\d+) ms", "memd.rpc.connection:MIN_PROGRESS_INTERVAL_S", 0.001),
    ("protocol.md", r"has\s+not replied (\d+) ms later", "memd.search.service:DEADLINE_SLACK_S", 0.001),
    (
        "requests.md",
        r"for at most (\d+) ms \(`catch_up_ms`\)",
        "memd.settings.schema:DaemonSettings.catch_up_ms",
        1,
    ),
    ("requests.md", r"embedded if (\d+) ms", "memd.search.freshness:VECTOR_WAIT_S", 0.001),
    (
        "requests.md",
        r"without comments, at most (\d+) characters",
        "memd.search.snippets:MAX_SNIPPET_CHARACTERS",
        1,
    ),
    (
        "requests.md",
        r"share at least (\d+) % of their words",
        "memd.search.rank.near_duplicates:MIN_JACCARD",
        0.01,
    ),
    ("requests.md", r"fewer than (\w+) different words", "memd.search.rank.near_duplicates:MIN_WORDS", 1),
    (
        "requests.md",
        r"`max_results` [^\n]+ 1 to ([\d,]+); nil: the agent's",
        "memd_client.limits:MAX_RESULTS",
        1,
    ),
    ("requests.md", r"nil: (\d+) s for each agent", "memd.rpc.methods.search_agents:AGENT_TIMEOUT_S", 1),
    (
        "requests.md",
        r"conversation \((\d+) messages by default\)",
        "memd.settings.lifecycle:SessionNote.messages",
        1,
    ),
    ("requests.md", r"The slug has at most (\d+) letters", "memd.lifecycle.notes.slug:MAX_CHARACTERS", 1),
    ("requests.md", r"responds\s+within (\d+) seconds", "memd.lifecycle.notes.slug:SLUG_TIMEOUT_S", 1),
    ("requests.md", r"with a cosine above ([\d.]+)", "memd.lifecycle.facts.search:DUPLICATE_COSINE", 1),
    ("requests.md", r"fails or takes longer than (\d+) s", "memd.lifecycle.facts.search:TIMEOUT_S", 1),
    (
        "requests.md",
        r"its first ([\d,]+) characters are removed",
        "memd.lifecycle.facts.facts:MAX_PROMPT_CHARS",
        1,
    ),
    (
        "requests.md",
        r"has at most ([\d,]+) characters; of a longer",
        "memd.lifecycle.tools.tools:MAX_TEXT_CHARS",
        1,
    ),
    ("metrics.md", r"has at most (\d+) values", "memd.system.metrics:MAX_VALUES", 1),
    ("cli.md", r"\| (\d+) \| interrupted", "memd.cli.main:EXIT_INTERRUPTED", 1),
    (
        "remote-host.md",
        r"`connect_timeout_s` is (\d+) s by default",
        "memd_client.destination:HOST_CONNECT_TIMEOUT_S",
        1,
    ),
    ("clients.md", r"`connect_timeout_s` \| (\d+), with", "memd_client.destination:CONNECT_TIMEOUT_S", 1),
    ("service.md", r"exits with code (\d+)", "memd_client.discovery:EXIT_ALREADY_RUNNING", 1),
    ("service.md", r"gives requests in flight up to (\d+) s", "memd.rpc.limits:Limits.drain_s", 1),
)
"""Page, pattern of a sentence with a number, the constant or default in the code, and the unit of the page in it."""

WORDS = {"two": 2, "three": 3, "five": 5, "ten": 10, "twelve": 12}


def _value(path: str) -> Any:
    """Return a constant, or the default of a field of a dataclass or of settings."""
    module, _, name = path.partition(":")
    owner, _, field = name.partition(".")
    value = getattr(importlib.import_module(module), owner)
    if not field:
        return value
    if hasattr(value, "__dataclass_fields__"):
        return getattr(value(), field)
    return next(each.default for each in msgspec.structs.fields(value) if each.name == field)


@pytest.mark.parametrize(("page", "pattern", "path", "unit"), NUMBERS, ids=[row[2] for row in NUMBERS])
def test_a_number_in_the_docs_is_that_of_the_code(page: str, pattern: str, path: str, unit: float) -> None:
    found = re.search(pattern, (DOCS / page).read_text())

    assert found is not None, f"{page} has no sentence like {pattern}"
    number = WORDS.get(found[1]) or float(found[1].replace(",", ""))
    assert number * unit == pytest.approx(float(_value(path)))
