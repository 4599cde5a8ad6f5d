"""`memctl status` without `-v`: one line per agent, and problems with hints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from memd_client.messages import AccountStatus, AgentStatus, DownloadStatus, Problem, StatusReply
from tests.unit.cli.memctl_runner import MAIN, MINILM, NOW_MS, memctl, status_of
from tests.unit.cli.test_status import OUT_OF_CREDIT, switching, troubled

REMOTE = replace(MAIN, agent="work", provider="openai", model="text-embedding-3-small", last_sync_ms=NOW_MS)

HEALTHY = """\
memd 0.1.0 · up 3 h 12 min · 48.2 MB RAM
  model       minilm · ready · 91.7 MB · xllamacpp

main          ready · 54 files · 1,300 chunks · 1,300 vectors · synced 2 min ago · local minilm
work          ready · 54 files · 1,300 chunks · 1,300 vectors · synced just now · openai text-embedding-3-small
"""

TROUBLED = """\
memd 0.1.0 · up 3 h 12 min · 48.2 MB RAM
  problem     sqlite-vec can't be loaded. (vector_extension)
              hint: Reinstall sqlite-vec.
  model       none loaded

work          needs attention · 54 files · 1,300 chunks · 1 vector · 2 files and 1,299 chunks pending · keywords only
  problem     memory/x.md is not UTF-8. (file_unreadable)
              hint: Save it as UTF-8.
  degraded    The embedding provider openai answered 401. (for 3 h, provider_failed)
              hint: Correct search.endpoint.apiKey.
  watching    polling: no inotify instance is free
  vectors     compared by a scan of the index
  skipped     7 files; `memctl status -v` lists them
  check       ok      keyword index: 1,300 rows
  check       failed  embeddings: 401
idle          off
"""

SWITCHING = """\
main          fallen back · 54 files · 1,300 chunks · 1,300 vectors · synced 2 min ago · local minilm
  fallback    using local minilm instead of openai: 429 insufficient_quota (for 3 h, provider_quota_exhausted)
  filling     gemini gemini-embedding-001, 812 of 4,210 texts (19 %), about 3 min and 1,240,000 tokens to go; searches \
use local minilm until then
  refused     6 chunks; `memctl status -v` lists them
"""


def shown(*agents: AgentStatus, reply: StatusReply | None = None, **facts: Any) -> str:
    """Return the short status on a pipe."""
    ran = memctl("status", status=reply or status_of(*agents, **facts))
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_two_healthy_agents_are_two_lines_and_fit_ten_on_a_terminal() -> None:
    terminal = memctl("status", status=status_of(MAIN, REMOTE), terminal=True, colour=False, width=60)

    assert shown(MAIN, REMOTE) == HEALTHY
    assert len(terminal.out.splitlines()) <= 10


def test_problems_are_shown_below_their_agent_with_a_hint() -> None:
    assert shown(reply=troubled()) == TROUBLED


def test_filling_is_shown_and_lists_are_counted() -> None:
    assert shown(switching()).split("\n\n")[1] == SWITCHING


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        ({"models": []}, ["  model       openai text-embedding-3-small"]),
        (
            {"models": [replace(MINILM, state="failed", rss_bytes=0, problem="it died of signal 9")]},
            ["  model       minilm · failed · xllamacpp", "              it died of signal 9"],
        ),
        (
            {"downloads": [DownloadStatus("hf:a/b/c.gguf", "failed", "download", 5, 10, "no space is left")]},
            ["  download    hf:a/b/c.gguf: failed: no space is left"],
        ),
        (
            {"accounts": [AccountStatus("voyage", "ok", 1, 1), OUT_OF_CREDIT]},
            [
                "  paused      openai: 429 insufficient_quota (for 25 min, provider_quota_exhausted); "
                "next attempt in 5 min"
            ],
        ),
        (
            {"tokens_today": 5_000_100, "token_budget": 5_000_000},
            ["  tokens      5,000,000 today of a budget of 5,000,000"],
        ),
        ({"tokens_today": 4_000_000, "token_budget": 5_000_000}, []),
    ],
)
def test_models_and_providers_are_shown_with_their_problems(facts: dict[str, Any], lines: list[str]) -> None:
    head = shown(REMOTE, **facts).split("\n\n")[0].splitlines()

    usual = ["  model       minilm · ready · 91.7 MB · xllamacpp"]
    assert head[1:] == (lines if "models" in facts else [*usual, *lines])


def test_waiting_for_power_or_a_failed_report_is_shown() -> None:
    waiting = replace(MAIN, chunks_pending=1, waits_for="mains power")
    failed = replace(MAIN, workspace="", index_path="", problems=[Problem("internal", "It crashed.", "")])

    assert shown(waiting).endswith("  pending     waiting for mains power\n")
    assert shown(failed).endswith("\n\nmain          needs attention\n  problem     It crashed. (internal)\n")


def test_named_agent_or_the_lack_of_agents_is_shown() -> None:
    ran = memctl("status", "--agent", "main", status=status_of(MAIN))

    assert ran.client.calls == [("status", {"agent": "main", "deep": False})]
    assert ran.out.splitlines()[-1].startswith("main          ready · ")
    assert shown().endswith(
        "\n\nno agents; agents are the entries in openclaw.json and the folders in agents/\n"
    )
