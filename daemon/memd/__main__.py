"""The command `memd`: read arguments and environment, load settings, run the daemon."""

from __future__ import annotations

import os
import sys

from memd.system.descriptors import open_missing_descriptors

open_missing_descriptors()

# Set before NumPy is imported: its threads spin while waiting and occupy the core that keyword search needs. One thread
# answers sooner (benchmarks/NOTES.md).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc

_USUAL_THRESHOLDS = gc.get_threshold()
gc.set_threshold(20_000)  # while modules are imported: the usual collections would take a tenth of the start

import atexit
import contextlib
import resource
from pathlib import Path

import trio

from memd import __version__, app
from memd.settings.schema import DaemonSettings
from memd.settings.agents import load_settings
from memd.settings.openclaw_file import files_of_openclaw
from memd.settings.paths import daemon_config_file, models_dir
from memd.settings.reload import CurrentSettings
from memd.service.heap import bound_heap
from memd.service.lock import DaemonLock
from memd.service.logfile import LogStream
from memd.agents.agent import first_error
from memd.system.log import configure_log
from memd.system.temp_files import remove_leftovers
from memd_client.discovery import EXIT_ALREADY_RUNNING, home_directory, log_path, socket_path
from memd_client.errors import DaemonRunningError, MemdError
from memd_client.state_folder import USUAL_NAME, daemon_name, own_state_dir

gc.freeze()  # no later collection examines the modules again
gc.set_threshold(*_USUAL_THRESHOLDS)

LOG = LogStream()

MAX_DESCRIPTORS = 8192
"""Wanted limit of open files and connections, as for the installed service. The usual 1,024 are few for the indexes and
clients of many agents; some systems refuse more."""


def main() -> None:
    """Run the daemon in the foreground until a stop signal."""
    if sys.argv[1:]:
        _parse_arguments()
    sys.stderr = LOG.as_stderr()
    atexit.register(LOG.drain)
    code = 0
    try:
        serve_forever()
    except* MemdError as group:
        error = first_error(group)
        print(f"memd: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        code = EXIT_ALREADY_RUNNING if isinstance(error, DaemonRunningError) else 1
    sys.exit(code)


def _parse_arguments() -> None:
    """Print the version or the help, or report an invalid argument, and exit."""
    import argparse  # takes 5 ms, and the daemon is started without arguments

    parser = argparse.ArgumentParser(
        prog="memd",
        description="The memory daemon. It runs in the foreground; `memctl` starts it automatically when needed.",
        epilog="Environment: OPENCLAW_STATE_DIR, OPENCLAW_HOME, OPENCLAW_CONFIG_PATH, MEMD_SOCKET, MEMD_CONFIG, "
        "MEMD_MODEL_DIR.",
    )
    parser.add_argument("--version", action="version", version=f"memd {__version__}")
    parser.parse_args()


def serve_forever() -> None:
    """Load settings, take the lock and run until stopped."""
    os.umask(0o077)  # new files are private to the user
    home_dir = Path(home_directory())
    os.environ["HOME"] = str(home_dir)  # so that `~` has one meaning
    environ = dict(os.environ)

    def load() -> CurrentSettings:
        return CurrentSettings(*load_settings(environ, home_dir))

    first = load()
    _start_logging(first.daemon)
    _raise_descriptor_limit()
    bound_heap()
    state_dir, name = first.home.state_dir, daemon_name(environ, lambda: str(home_dir))
    # `memd.toml` is shared by the daemons of all state folders, which can't share a socket.
    wanted = "" if environ.get("MEMD_SOCKET") or name != USUAL_NAME else first.daemon.socket
    socket = Path(wanted or socket_path(environ))
    files = [daemon_config_file(environ), first.home.config_path, state_dir / "agents"]
    if str(state_dir) == own_state_dir(environ, str(home_dir)):
        files += files_of_openclaw(home_dir)
    with DaemonLock.acquire(socket):
        _limit_log_size(socket, home_dir, name)
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
    """Raise the limit of open files to `MAX_DESCRIPTORS`, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(MAX_DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with contextlib.suppress(OSError, ValueError):  # the limit stays; `memctl doctor` reports a low one
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _limit_log_size(socket: Path, home_dir: Path, name: str) -> None:
    """Limit the size of the log file, if a client or launchd created it."""
    if not LOG.rotate_file(log_path(str(socket))) and sys.platform == "darwin":
        from memd.service.install import launchd

        LOG.rotate_file(launchd.log_file(str(home_dir), name))


def _start_logging(settings: DaemonSettings) -> None:
    """Write each event to the log as one JSON line."""
    configure_log(settings.log_level, LOG)


if __name__ == "__main__":
    main()
