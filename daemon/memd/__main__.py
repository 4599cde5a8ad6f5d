"""The command `memd`: arguments and environment become settings, then trio runs the daemon."""

from __future__ import annotations

import os
import sys

from memd.system.descriptors import open_missing_descriptors

open_missing_descriptors()

# Before NumPy is imported anywhere: its threads spin while they wait for work, which takes the core from the
# keyword search that runs beside a vector search. One thread answers sooner (docs/performance.md).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import atexit
import contextlib
import logging
import resource
from pathlib import Path

import structlog
import trio

from memd import __version__, app
from memd.settings.schema import DaemonSettings
from memd.settings.agents import load_settings
from memd.settings.paths import daemon_config_file, models_dir
from memd.settings.reload import CurrentSettings
from memd.service.heap import bound_heap
from memd.service.lock import DaemonLock
from memd.service.logfile import LogStream
from memd.agents.agent import first_error
from memd.system.state_dirs import files_of_openclaw, own_state_dir
from memd.system.temp_files import remove_leftovers
from memd_client.discovery import EXIT_ALREADY_RUNNING, home_directory, log_path, socket_path
from memd_client.errors import DaemonRunningError, MemdError

LOG = LogStream()

DESCRIPTORS = 8192
"""Files and connections we want to be allowed at once, as the installed service is: the usual 1,024 are few
beside many agents' indexes and clients. Not more, since some systems refuse it."""


def main() -> None:
    """Run the daemon in the foreground until it is told to stop."""
    parser = argparse.ArgumentParser(
        prog="memd",
        description="The memory daemon. It runs in the foreground; `memctl` starts it by itself when needed.",
        epilog="Environment: OPENCLAW_STATE_DIR, OPENCLAW_CONFIG_PATH, MEMD_SOCKET, MEMD_CONFIG, MEMD_MODEL_DIR.",
    )
    parser.add_argument("--version", action="version", version=f"memd {__version__}")
    parser.parse_args()
    sys.stderr = LOG.as_stderr()
    atexit.register(LOG.drain)
    code = 0
    try:
        serve_forever()
    except* MemdError as group:
        error = first_error(group)
        print(f"memd: {error.message}\n  try: {error.hint}", file=sys.stderr)
        code = EXIT_ALREADY_RUNNING if isinstance(error, DaemonRunningError) else 1
    sys.exit(code)


def serve_forever() -> None:
    """Load settings, take the lock and run until stopped."""
    os.umask(0o077)  # whatever is made from here on is the user's alone
    home_dir = Path(home_directory())
    os.environ["HOME"] = str(home_dir)  # what `~` means, wherever it is asked
    environ = dict(os.environ)

    def load() -> CurrentSettings:
        return CurrentSettings(*load_settings(environ, home_dir))

    first = load()
    _start_logging(first.daemon)
    _raise_descriptor_limit()
    bound_heap()
    wanted = first.daemon.socket
    socket = Path(socket_path(environ) if environ.get("MEMD_SOCKET") or not wanted else wanted)
    state_dir = first.home.state_dir
    files = [daemon_config_file(environ), first.home.config_path, state_dir / "agents"]
    if state_dir == own_state_dir(environ, home_dir):
        files += files_of_openclaw(home_dir)
    with DaemonLock.acquire(socket):
        _bound_log(socket, home_dir)
        for folder in (state_dir, state_dir / "memory", models_dir(environ)):
            remove_leftovers(folder)
        trio.run(
            lambda: app.run(
                first,
                load=load,
                files=files,
                socket=socket,
                models_dir=models_dir(environ),
                on_daemon=_start_logging,
            )
        )


def _raise_descriptor_limit() -> None:
    """Allow ourselves as many descriptors as the system lets us, up to `DESCRIPTORS`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with contextlib.suppress(OSError, ValueError):  # then the limit stays; `memctl doctor` names a low one
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _bound_log(socket: Path, home_dir: Path) -> None:
    """Keep the log's file within its size, where it is the one a client or launchd gave us."""
    if not LOG.keep_in(log_path(str(socket))) and sys.platform == "darwin":
        from memd.service.install import launchd

        LOG.keep_in(launchd.log_file(str(home_dir)))


def _start_logging(settings: DaemonSettings) -> None:
    """Write one JSON line an event to the log."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[settings.log_level.upper()]
        ),
        logger_factory=LOG.logger_factory(),
    )


if __name__ == "__main__":
    main()
