"""`memctl usage`: the report on recalls, and clearing the log."""

from __future__ import annotations

import json

from memd_client.messages import (
    FileEntry,
    NeverRecalled,
    RecallDay,
    RecalledFile,
    UnansweredQuery,
    UsageReply,
)
from tests.unit.cli.memctl_runner import NOW_MS, memctl

REPORT = UsageReply(
    recalls=1_200,
    since_ms=NOW_MS - 86_400_000,
    days=[
        RecallDay("2027-01-15", "claude-code", "prompt", 900, 700, 30, 12),
        RecallDay("2027-01-14", "memctl", "search", 300, 200),
    ],
    often=[RecalledFile("main", "memory/shop.md", 40, 3, NOW_MS - 3_600_000)],
    never=[NeverRecalled("main", FileEntry("memory/old.md", "memory", 0, 2_100, 3))],
    never_total=7,
    unanswered=[UnansweredQuery("retention\x1b[31m of backups", 4, ["codex", "memctl"], NOW_MS - 120_000)],
)


def test_the_report_lists_programs_files_and_missing_answers() -> None:
    ran = memctl("usage", "--since", "30d", "--agent", "main", usage=REPORT)

    assert ran.code == 0
    assert ran.client.calls == [("usage", {"action": "show", "since": "30d", "agent": "main", "limit": 10})]
    assert ran.out.splitlines() == [
        "1,200 recalls since 2027-01-14",
        "  2027-01-15  claude-code · prompt · 900 · 700 with a strong hit · 12 of 30 likely used",
        "  2027-01-14  memctl · search · 300 · 200 with a strong hit",
        "recalled often",
        "  memory/shop.md · agent main · 40 · 3 likely used · 1 h ago",
        "asked and not found",
        '  "retention\\x1b[31m of backups" · 4 · codex · memctl · 2 min ago',
        "never recalled: 7 files, the largest first",
        "  memory/old.md · agent main · 2.10 kB",
    ]


def test_a_log_without_recalls_and_a_log_that_is_off_are_explained() -> None:
    assert memctl("usage", usage=UsageReply()).out.startswith("no recalls; ")
    assert "recall_log = false" in memctl("usage", usage=UsageReply(is_on=False)).err


def test_the_report_as_json_is_the_reply() -> None:
    shown = json.loads(memctl("usage", "--json", usage=REPORT).out)

    assert (shown["recalls"], shown["unanswered"][0]["count"]) == (1_200, 4)


def test_clearing_names_the_number_of_deleted_recalls() -> None:
    ran = memctl("usage", "clear", "--agent", "work", usage=UsageReply(cleared=1))

    assert (ran.code, ran.out) == (0, "deleted 1 recall\n")
    assert ran.client.calls == [("usage", {"action": "clear", "agent": "work"})]
