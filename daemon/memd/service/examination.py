"""The report on the installation in a deep status. The daemon has the modules for it, a new process needs 0.5 s."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import structlog
import trio

from memd_client.discovery import home_directory

log = structlog.get_logger(__name__)

EXAMINE_S = 5.0
"""How long the disk may take; `memctl doctor` then asks a process of its own, which may take longer."""


class Examination:
    """Makes reports in a thread, one at a time: a disk that hangs holds one thread, not one for each request."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(1)

    async def examine(self) -> dict[str, Any] | None:
        """Return what `check.report` tells of the daemon's environment; None if it fails or is late."""
        try:
            with trio.fail_after(EXAMINE_S):
                return await trio.to_thread.run_sync(_report, abandon_on_cancel=True, limiter=self._limiter)
        except trio.TooSlowError:
            log.warning("daemon.examination_late", limit_s=EXAMINE_S)
        except Exception:
            log.exception("daemon.examination_failed")
        return None


def _report() -> dict[str, Any]:
    """Return the report; the modules that only it needs are imported here."""
    from memd.service.check import report

    return report(os.environ, Path(home_directory()))
