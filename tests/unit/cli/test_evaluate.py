"""`memctl eval` with a scripted daemon: which searches are run, and what is printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from memd_client.messages import Fallback, FileEntry, FilesReply, FillProgress, GetReply, Hit, SearchReply
from tests.unit.cli.memctl_runner import MAIN, MemctlResult, found, memctl, status_of

BIRDS = ("heron", "otter", "maple", "quartz", "cedar", "finch", "lynx", "birch")
TEXT = "# Animals\n\n" + "\n\n".join(
    f"The {bird} named {bird.title()}son was seen near the {bird}wood by the ranger." for bird in BIRDS
)
NOTE = FileEntry("memory/animals.md", "memory", 0, len(TEXT), 3, "Animals", None)
FILLING = FillProgress("openai", "m", "s", 1, 9, None, 0)


def hit_in_note(**params: Any) -> Hit:
    """Return a hit that shows the whole note."""
    return Hit(NOTE.path, 1, 17, 0.9, None, 0.9, TEXT, "memory", NOTE.path)


def evaluated(*arguments: str, **replies: Any) -> MemctlResult:
    """Run `memctl eval` on a note; every query finds it, unless `replies` says otherwise."""
    known: dict[str, Any] = {
        "status": status_of(MAIN),
        "files": FilesReply("main", [NOTE], 1),
        "get": GetReply("main", NOTE.path, TEXT, 1, 17, 17),
        "search": found(hit_in_note()),
    }
    return memctl("eval", *arguments, **(known | replies))


def lexical(ran: MemctlResult) -> set[bool]:
    """Return which kinds of searches were run: by keywords alone, or not."""
    return {params["lexical_only"] for name, params in ran.client.calls if name == "search"}


def test_shares_of_queries_are_printed() -> None:
    ran = evaluated()

    assert ran.code == 0
    head, total, *_ = ran.out.splitlines()
    assert head.split()[:5] == ["queries", "first", "found", "shown", "refused"]
    assert total.split()[2:] == ["100.0", "%"] * 3 + ["0.0", "%", "4.2", "ms", "4.2", "ms", str(len(TEXT))]
    assert ran.out.splitlines()[-1].endswith(" queries · hybrid · local minilm")
    assert lexical(ran) == {False}


def test_misses_are_listed_with_their_place() -> None:
    ran = evaluated("--show-misses", search=replace(found(), abstained=True))

    assert ran.code == 0
    assert "memory/animals.md:3  " in ran.out
    misses = json.loads(evaluated("--show-misses", "--json", search=found()).out)["misses"]
    assert len(misses) == json.loads(evaluated("--json").out)["queries"]
    assert json.loads(evaluated("--json", search=found()).out)["misses"] == []


@pytest.mark.parametrize(
    "state",
    [
        {"provider": "openai"},
        {"filling": FILLING},
        {"fallback": Fallback("openai", "provider_failed", "it failed", 0)},
    ],
)
def test_queries_are_not_embedded_if_a_remote_provider_may_be_used(state: dict[str, Any]) -> None:
    status = status_of(replace(MAIN, **state))

    ran = evaluated(status=status)
    assert ran.code == 0
    assert lexical(ran) == {True}
    assert "queries would be sent to openai" in ran.err
    assert lexical(evaluated("--allow-remote", status=status)) == {False}


def test_queries_are_not_embedded_once_a_reply_names_a_remote_provider() -> None:
    replies = 0

    def search(**params: Any) -> SearchReply:
        nonlocal replies
        replies += 1
        return replace(found(hit_in_note()), filling=FILLING if replies == 3 else None)

    ran = evaluated(search=search)

    kinds = [params["lexical_only"] for name, params in ran.client.calls if name == "search"]
    assert kinds[:3] == [False] * 3
    assert set(kinds[3:]) == {True}


def test_too_few_queries_are_an_error_before_any_search() -> None:
    ran = evaluated(get=GetReply("main", NOTE.path, "# Animals\n", 1, 1, 1))

    assert ran.code == 1
    assert "error: the notes of agent main are too few: 1 file gave " in ran.err
    assert not any(name == "search" for name, _ in ran.client.calls)


@pytest.mark.parametrize("arguments", [("--queries", "3"), ("--compare", "query"), ("--nothing",)])
def test_wrong_usage_asks_the_daemon_nothing(arguments: tuple[str, ...]) -> None:
    ran = evaluated(*arguments)

    assert ran.code in (1, 2)
    assert ran.opened == 0
    assert "hint: " in ran.err
