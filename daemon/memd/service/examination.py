"""The report on the installation in a deep status; the daemon has loaded the modules for it already."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import trio

from memd.system.log import log
from memd_client.discovery import home_directory

EXAMINE_S = 5.0
"""Deadline of a report; `memctl doctor` then starts a process, which has a longer one."""


class Examination:
    """Makes reports in a thread, one at a time: a disk that hangs blocks one thread, not one per request."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(1)

    async def examine(self) -> dict[str, Any] | None:
        """Return the report for the daemon's environment; None on failure or after the deadline."""
        try:
            with trio.fail_after(EXAMINE_S):
                return await trio.to_thread.run_sync(_report, abandon_on_cancel=True, limiter=self._limiter)
        except trio.TooSlowError:
            log.warning("daemon.report_timeout", limit_s=EXAMINE_S)
        except Exception:
            log.exception("daemon.examination_failed")
        return None


def _report() -> dict[str, Any]:
    """Return the report; its modules are imported on first use."""
    from memd.service.checks.report import report

    return report(os.environ, Path(home_directory()), os.getpid())
