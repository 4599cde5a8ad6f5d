"""The pre-compaction flush runs in the same cases as in OpenClaw."""

from __future__ import annotations

from typing import Any

from memd.lifecycle.flush.check import SessionFigures, decide
from memd.settings.lifecycle import Flush
from tests.conformance.cases import recorded


@recorded("flush", "total_tokens")
def test_flushes_run_as_recorded(case: dict[str, Any]) -> None:
    settings = Flush(
        reserve_tokens_floor=case["reserve_tokens_floor"],
        soft_threshold_tokens=case["soft_threshold_tokens"],
    )
    figures = SessionFigures(
        total_tokens=case["total_tokens"],
        context_window=case["context_window"],
        compaction_count=case["compaction_count"],
        flushed_at_compaction=case["flushed_at_compaction"],
    )

    assert decide(settings, figures).run is case["expected"]
