"""What a person or a service manager tells the daemon by signals, and what it tells them all along."""

from __future__ import annotations

import signal
from collections.abc import Callable

import structlog
import trio

from memd.service.notify import notify_alive, watchdog_interval_s

log = structlog.get_logger(__name__)


async def wait_for_stop() -> None:
    """Return at the first SIGTERM or SIGINT."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("daemon.signal", signal=signal.Signals(number).name)
            return


async def on_hangup(call: Callable[[], None]) -> None:
    """Call something at every SIGHUP, until cancelled."""
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            call()


async def feed_watchdog() -> None:
    """Tell the service manager that the loop turns, as often as it wants to know; returns where it doesn't."""
    interval_s = watchdog_interval_s()
    while interval_s is not None:
        notify_alive()
        await trio.sleep(interval_s)
