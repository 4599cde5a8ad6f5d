"""Notices of `memctl search`: only what may change the answer is reported."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memd_client.messages import Degradation, PendingChanges
from tests.unit.cli.memctl_runner import KEYS, found, memctl

WAITING = Degradation("vectors_pending", "computing vectors (1 texts left)", 0, "no action needed")


@pytest.mark.parametrize(("relevance", "is_shown"), [("strong", False), ("weak", True)])
def test_vectors_on_their_way_are_reported_unless_a_hit_is_strong(relevance: str, is_shown: bool) -> None:
    hit = replace(KEYS, relevance=relevance)
    reply = found(hit, mode="keyword", degraded=WAITING, pending=PendingChanges(0, 1, 700))

    out = memctl("search", "keys", search=reply).out

    assert [word in out for word in ("degraded", "pending")] == [is_shown, is_shown]


def test_changed_files_are_reported_besides_a_strong_hit() -> None:
    reply = found(replace(KEYS, relevance="strong"), pending=PendingChanges(2, 1, 700))

    out = memctl("search", "keys", search=reply).out

    assert "pending: 2 changed files not indexed yet · the oldest for 700 ms\n" in out
