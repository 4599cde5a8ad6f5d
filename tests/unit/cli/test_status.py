"""`memctl status -v` and `agents`: all details, and JSON."""

from __future__ import annotations

import json

from msgspec.structs import replace

from memd_client.messages import (
    AccountStatus,
    AgentStatus,
    BulkJob,
    Check,
    DownloadStatus,
    Fallback,
    FillProgress,
    Problem,
    RejectedText,
    SessionsStatus,
    SkippedFile,
    StatusReply,
)
from memd_client.schema import to_wire
from tests.unit.cli.memctl_runner import MAIN, MINILM, NOW_MS, OUTAGE, memctl, status_of

REPORTED = Problem(OUTAGE.code, OUTAGE.reason, OUTAGE.hint)
"""The reason of a degradation, also listed as a problem."""

HEALTHY = """\
memd 0.1.0 · up 3 h 12 min · pid 4242 · 48.2 MB
  agents      1 ready
  model       minilm · ready · 91.7 MB · xllamacpp · pid 4300
              /home/ann/.cache/memd/models/all-MiniLM-L6-v2.gguf
  sqlite-vec  0.1.9
  socket      /run/user/1000/memd/memd.sock · 3 connections
  state       /home/ann/.openclaw
  config      /home/ann/.openclaw/openclaw.json

main  ready
  workspace   /home/ann/.openclaw/workspace
  indexed     54 files · 1,300 chunks · 1,300 vectors of 384 dimensions
  pending     nothing
  last sync   2 min ago
  watching    file events
  sources     memory
  provider    local · minilm
  vectors     in RAM (2.0 MB of a budget of 512 MB)
  index       /home/ann/.openclaw/memory/main.memd.sqlite · 5.30 MB · generation 41
"""

TROUBLED = """\
memd 0.1.0 · up 3 h 12 min · pid 4242 · 48.2 MB
  problem     sqlite-vec can't be loaded. (vector_extension)
              hint: Reinstall sqlite-vec.
  agents      1 needs attention · 1 off
  model       none loaded
  sqlite-vec  not loaded: no such file
  socket      /run/user/1000/memd/memd.sock · 1 connection
  state       /home/ann/.openclaw
  config      /home/ann/.openclaw/openclaw.json

work  needs attention
  problem     memory/x.md is not UTF-8. (file_unreadable)
              hint: Save it as UTF-8.
  degraded    The embedding provider openai answered 401. (for 3 h, provider_failed)
              hint: Correct search.endpoint.apiKey.
  workspace   /home/ann/work
  indexed     54 files · 1,300 chunks · 1 vector of 384 dimensions
  pending     2 files to read · 1,299 chunks to embed · oldest for 4.0 s
  last sync   never · running now
  watching    polling · no inotify instance is free · sync every 5 min
  sources     memory, sessions
  sessions    8 transcripts with 412 messages · 6 in files · 2 in OpenClaw's database · 3 secrets redacted
              not indexed: 4 cron, 1 heartbeat
  provider    none: keyword search only
  vectors     by a scan of the index
  index       /home/ann/.openclaw/memory/main.memd.sqlite · 5.30 MB · generation 41
  skipped     7 files
              memory/link0.md: symbolic link
              memory/link1.md: symbolic link
              memory/link2.md: symbolic link
              memory/link3.md: symbolic link
              memory/link4.md: symbolic link
              and 2 more; --json lists all
  check       ok      keyword index: 1,300 rows
  check       failed  embeddings: 401

idle  off
  workspace   /home/ann/.openclaw/workspace
  search      off: search.enabled is false
"""


SWITCHING = """\
main  fallen back
  workspace   /home/ann/.openclaw/workspace
  indexed     54 files · 1,300 chunks · 1,300 vectors of 384 dimensions
  pending     nothing
  last sync   2 min ago
  watching    file events
  sources     memory
  provider    local · minilm
  fallback    using local minilm instead of openai: 429 insufficient_quota (for 3 h, provider_quota_exhausted)
  filling     gemini gemini-embedding-001, 812 of 4,210 texts (19 %), about 3 min and 1,240,000 tokens to go; searches \
use local minilm until then
  vectors     in RAM (2.0 MB of a budget of 512 MB)
  index       /home/ann/.openclaw/memory/main.memd.sqlite · 5.30 MB · generation 41
  batch jobs  2 with 4,000 texts
              batch_1 · running · 120 of 3,000 texts · submitted 2 min ago
              batch_2 · submitted · 0 of 1,000 texts · submitted just now
  refused     6 chunks, keyword search only
              memory/a.md:1-4: openai refuses the text
              memory/a.md:2-4: openai refuses the text
              memory/a.md:3-4: openai refuses the text
              memory/a.md:4-4: openai refuses the text
              memory/a.md:5-4: openai refuses the text
              and 1 more; --json lists all
"""

FILLING = FillProgress("gemini", "gemini-embedding-001", "0123456789abcdef", 812, 4210, 180.4, 1_243_000)

OUT_OF_CREDIT = AccountStatus(
    provider="openai",
    state="paused",
    calls_today=40,
    tokens_today=1_243_000,
    code="provider_quota_exhausted",
    reason="429 insufficient_quota",
    since_ms=NOW_MS - 25 * 60_000,
    until_ms=NOW_MS + 5 * 60_000 - 1,
)


def switching() -> AgentStatus:
    """Return an agent on its fallback, with a vector space that is being filled."""
    return replace(
        MAIN,
        filling=FILLING,
        fallback=Fallback(
            "openai", "provider_quota_exhausted", "429 insufficient_quota", NOW_MS - 3 * 3_600_000
        ),
        jobs=[
            BulkJob("batch_1", "running", 3000, 120, NOW_MS - 125_000),
            BulkJob("batch_2", "submitted", 1000, 0, NOW_MS),
        ],
        rejected=[RejectedText("memory/a.md", first, 4, "openai refuses the text") for first in range(1, 7)],
    )


def troubled() -> StatusReply:
    """Return a status with every kind of problem."""
    work = replace(
        MAIN,
        agent="work",
        workspace="/home/ann/work",
        sources=["memory", "sessions"],
        vectors=1,
        files_pending=2,
        chunks_pending=1299,
        oldest_pending_ms=4000,
        watch="polling",
        watch_reason="no inotify instance is free",
        interval_minutes=5,
        sessions=SessionsStatus(8, 412, 3, {"jsonl": 6, "sqlite": 2}, {"cron": 4, "heartbeat": 1}),
        provider="none",
        model="",
        vector_path="scan",
        vector_path_reason="",
        last_sync_ms=None,
        syncing=True,
        degraded=OUTAGE,
        skipped=[SkippedFile(f"memory/link{number}.md", "symbolic link") for number in range(7)],
        problems=[
            REPORTED,
            Problem("file_unreadable", "memory/x.md is not UTF-8.", "Save it as UTF-8."),
        ],
        checks=[Check("keyword index", True, "1,300 rows"), Check("embeddings", False, "401")],
    )
    idle = replace(MAIN, agent="idle", enabled=False)
    problem = Problem("vector_extension", "sqlite-vec can't be loaded.", "Reinstall sqlite-vec.")
    return status_of(
        work, idle, models=[], sqlite_vec="not loaded: no such file", connections=1, problems=[problem]
    )


def test_verbose_status_shows_all_details() -> None:
    ran = memctl("status", "-v", status=status_of(MAIN))

    assert (ran.code, ran.out, ran.err) == (0, HEALTHY, "")


def test_problems_are_shown_first_with_their_hints() -> None:
    ran = memctl("status", "-v", "--deep", status=troubled())

    assert (ran.code, ran.out, ran.err) == (0, TROUBLED, "")


def test_agent_and_deep_are_sent_and_the_client_is_closed() -> None:
    ran = memctl("status", "--agent", "main", "--deep", status=status_of(MAIN))

    assert ran.client.calls == [("status", {"agent": "main", "deep": True})]
    assert ran.client.closed


def test_json_is_the_reply_field_by_field() -> None:
    reply = troubled()

    ran = memctl("status", "--json", status=reply)

    shown = json.loads(ran.out)
    assert shown == to_wire(reply)
    assert list(shown) == list(StatusReply.__struct_fields__)
    assert list(shown["agents"][0]) == list(AgentStatus.__struct_fields__)
    assert shown["agents"][0]["degraded"]["since_ms"] == OUTAGE.since_ms


def test_state_of_an_agent_is_the_most_important_one() -> None:
    states = {
        "ready": MAIN,
        "catching up": replace(MAIN, chunks_pending=1),
        "syncing": replace(MAIN, chunks_pending=1, syncing=True),
        "degraded": replace(MAIN, degraded=OUTAGE, syncing=True),
        "needs attention": replace(MAIN, degraded=OUTAGE, problems=[Problem("index_io", "No space.", "")]),
        "degraded ": replace(MAIN, degraded=OUTAGE, problems=[REPORTED]),
        "fallen back": replace(switching(), syncing=True),
        "degraded  ": replace(switching(), degraded=OUTAGE),
        "filling": replace(MAIN, filling=FILLING),
        "syncing ": replace(MAIN, filling=FILLING, syncing=True),
        "off": replace(MAIN, enabled=False, degraded=OUTAGE),
    }

    for word, agent in states.items():
        assert f"\nmain  {word.strip()}\n" in memctl("status", "-v", status=status_of(agent)).out


def test_restarts_and_queue_of_a_model_are_shown() -> None:
    model = replace(MINILM, queued=2, restarts=3, pid=None, rss_bytes=0, path="")

    ran = memctl("status", "-v", status=status_of(MAIN, models=[model]))

    assert "  model       minilm · ready · xllamacpp · 2 waiting · restarted 3 times\n  sqlite-vec" in ran.out


def test_layers_on_a_gpu_are_shown_with_the_engine() -> None:
    model = replace(MINILM, engine="llama-cpp-python", has_gpu=True, gpu_layers=6)

    ran = memctl("status", status=status_of(MAIN, models=[model]))

    assert "  model       minilm · ready · 91.7 MB · llama-cpp-python · 6 layers on a GPU\n" in ran.out


def test_problem_of_a_model_is_shown() -> None:
    model = replace(MINILM, state="failed", problem="it died of signal 9")

    ran = memctl("status", "-v", status=status_of(MAIN, models=[model]))

    assert f"\n              {MINILM.path}\n              it died of signal 9\n" in ran.out


def test_fallback_filling_jobs_and_refused_chunks_are_shown() -> None:
    ran = memctl("status", "-v", status=status_of(switching()))

    assert ran.out.split("\n\n")[1] == SWITCHING


def test_unknown_figures_of_a_filling_are_omitted() -> None:
    bare = replace(FILLING, eta_s=None, tokens=0, total=0, done=0)
    agent = replace(MAIN, provider="none", model="", filling=bare)

    ran = memctl("status", "-v", status=status_of(agent))

    said = "  filling     gemini gemini-embedding-001, 0 of 0 texts; keyword search only until then\n"
    assert said in ran.out


def test_filling_of_the_current_space_names_no_other_provider() -> None:
    agent = replace(MAIN, space=FILLING.space, filling=FILLING, chunks_pending=3398)

    ran = memctl("status", "-v", status=status_of(agent))

    assert ran.out.split("\n\n")[1].startswith("main  catching up\n")
    assert ", about 3 min and 1,240,000 tokens to go\n" in ran.out


def test_filling_is_100_percent_only_at_its_end() -> None:
    agent = replace(MAIN, filling=replace(FILLING, done=4209, eta_s=0.2, tokens=812))

    ran = memctl("status", "-v", status=status_of(agent))

    assert "4,209 of 4,210 texts (99 %), about 1 s and 812 tokens to go" in ran.out


def test_paused_account_shows_reason_and_times() -> None:
    well = replace(OUT_OF_CREDIT, provider="voyage", state="ok", code="", reason="", since_ms=0, until_ms=0)

    ran = memctl("status", "-v", status=status_of(MAIN, accounts=[well, OUT_OF_CREDIT]))

    assert (
        "  paused      openai: 429 insufficient_quota (for 25 min, provider_quota_exhausted); "
        "next attempt in 5 min\n"
    ) in ran.out
    assert "voyage" not in ran.out


def test_tokens_are_shown_if_used_or_limited() -> None:
    none = memctl("status", "-v", status=status_of(MAIN))
    some = memctl("status", "-v", status=status_of(MAIN, tokens_today=1_243_000))
    bounded = memctl("status", "-v", status=status_of(MAIN, tokens_today=0, token_budget=5_000_000))
    spent = memctl(
        "status",
        "-v",
        status=status_of(MAIN, tokens_today=5_000_100, token_budget=5_000_000),
        terminal=True,
        colour=True,
    )

    assert "tokens" not in none.out
    assert "  tokens      1,240,000 today\n" in some.out
    assert "  tokens      0 today of a budget of 5,000,000\n" in bounded.out
    assert "\x1b[33m5,000,000 today of a budget of 5,000,000" in spent.out


def test_downloads_show_progress_or_failure() -> None:
    downloads = [
        DownloadStatus("minilm", "running", "download", 45_000_000, 90_000_000),
        DownloadStatus("https://models.example/a.gguf", "running", "download", 1_000_000, 0),
        DownloadStatus("hf:a/b/c.gguf", "failed", "download", 5, 10, "no space is left on the disk"),
    ]

    ran = memctl("status", "-v", status=status_of(MAIN, downloads=downloads))

    assert (
        "  download    minilm · download · 45.0 MB of 90.0 MB (50 %)\n"
        "  download    https://models.example/a.gguf · download · 1.00 MB\n"
        "  download    hf:a/b/c.gguf: failed: no space is left on the disk\n"
    ) in ran.out


def test_status_without_agents_explains_agents() -> None:
    ran = memctl("status", "-v", status=status_of())

    assert "  agents      none\n" in ran.out
    assert ran.out.endswith(
        "\n\nno agents; agents are the entries in openclaw.json and the folders in agents/\n"
    )


def test_agent_without_vectors_shows_none() -> None:
    ran = memctl("status", "-v", status=status_of(replace(MAIN, vectors=0, dims=0)))

    assert "1,300 chunks · 0 vectors\n" in ran.out
    assert "  vectors     none\n" in ran.out


def test_failed_report_of_an_agent_shows_only_the_problem() -> None:
    failed = replace(MAIN, workspace="", index_path="", problems=[Problem("internal", "It crashed.", "")])

    ran = memctl("status", "-v", status=status_of(failed))

    assert ran.out.endswith("\n\nmain  needs attention\n  problem     It crashed. (internal)\n")


def test_time_in_the_future_is_shown_as_just_now() -> None:
    ran = memctl("status", "-v", status=status_of(replace(MAIN, last_sync_ms=NOW_MS + 60_000)))

    assert "  last sync   just now\n" in ran.out


def test_terminal_output_has_colour_and_fits_the_width() -> None:
    ran = memctl("status", "-v", status=troubled(), terminal=True, colour=True, width=60)
    bare = memctl("status", "-v", status=troubled(), terminal=True, colour=False, width=60)

    assert "\x1b[31mneeds attention" in ran.out
    assert "\x1b" not in bare.out
    assert max(map(len, bare.out.splitlines())) <= 60
    assert bare.out.split() == TROUBLED.split()


WORK = replace(
    MAIN,
    agent="work",
    workspace="/home/ann/work",
    provider="none",
    model="",
    files_pending=2,
    chunks_pending=1200,
    degraded=OUTAGE,
    problems=[Problem("file_unreadable", "memory/x.md is not UTF-8.", "Save it as UTF-8.")],
)
CLOSED = AgentStatus("old", workspace="/home/ann/old", problems=[Problem("index_io", "no room", "")])

TABLE = """\
agent            state  files  chunks  pending        provider  problems                     workspace
main             ready     54   1,300        -  local minilm         -  /home/ann/.openclaw/workspace
work   needs attention     54   1,300    1,202    keywords only         2                 /home/ann/work
old    needs attention      0       0        -    keywords only         1                  /home/ann/old
"""


def test_agents_prints_one_row_per_agent() -> None:
    ran = memctl("agents", status=status_of(MAIN, WORK, CLOSED))

    assert (ran.code, ran.err) == (0, "")
    assert [line.split() for line in ran.out.splitlines()] == [line.split() for line in TABLE.splitlines()]
    assert len({len(line) for line in ran.out.splitlines()}) == 1


def test_agents_without_agents_prints_a_note() -> None:
    ran = memctl("agents", status=status_of())

    assert (ran.code, ran.out) == (0, "")
    assert "openclaw.json" in ran.err


def test_agents_json_has_separate_figures() -> None:
    document = json.loads(memctl("agents", "--json", status=status_of(WORK)).out)

    assert document == {
        "agents": [
            {
                "agent": "work",
                "state": "needs attention",
                "files": 54,
                "chunks": 1300,
                "files_pending": 2,
                "chunks_pending": 1200,
                "provider": "none",
                "model": "",
                "problems": 2,
                "workspace": "/home/ann/work",
            }
        ]
    }
