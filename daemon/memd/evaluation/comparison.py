"""The other settings of `--compare`, and a second daemon that has them.

It reads the same notes as the user's daemon, and its index and settings are in a temporary folder. Daemon and folder
are gone when the block ends, also after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.evaluation.measure import LOCAL_PROVIDERS
from memd.settings.agents import load_settings
from memd.settings.memd_toml import load_memd_toml
from memd.settings.paths import daemon_config_file
from memd_client import Client, discovery
from memd_client.errors import ConfigInvalidError, DaemonStartError, DaemonUnreachableError

if TYPE_CHECKING:
    from memd_client.messages import Progress, StatusReply

KEYS_HINT = "use a key below `search` from docs/configuration.md, such as `query.hybrid.fusion=rrf`"

Settings = dict[str, Any]


def parse_settings(texts: Iterable[str], *, allow_remote: bool) -> Settings:
    """Return the settings of all `--compare` options, `KEY=VALUE`, by key; a value is TOML, or else a string.

    Unless `allow_remote`, settings are refused that would send queries or notes to a provider.
    """
    settings: Settings = {}
    for text in texts:
        key, _, raw = (part.strip() for part in text.partition("="))
        key = key.removeprefix("search.")
        if not raw or not all(map(str.isalpha, key.split("."))):
            raise ConfigInvalidError(f"--compare {text[:80]!r} is not KEY=VALUE", hint=KEYS_HINT)
        try:
            settings[key] = tomllib.loads(f"value = {raw}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key] = raw
        names_provider = key in ("provider", "fallback") and str(settings[key]) not in LOCAL_PROVIDERS
        if not allow_remote and (names_provider or key.partition(".")[0] in ("endpoint", "remote")):
            raise ConfigInvalidError(
                f"--compare {key} would send the notes and the queries to an embedding provider",
                hint="add --allow-remote to permit that",
            )
    return settings


def with_local_provider(settings: Settings, provider: str) -> Settings:
    """Return settings, completed so that no provider outside of this machine is used; `provider` is used now."""
    is_local = provider == "local" or any(key.startswith("local.") for key in settings)
    return {"provider": "local" if is_local else "none", **settings, "fallback": "none"}


def private_document(
    own: Settings, agent: str, others: Iterable[str], settings: Settings, index: str
) -> Settings:
    """Return the user's `memd.toml` with other settings of one agent, and with memory off for all others.

    `index` is the path of the private indexes, with `{agentId}` in it: an agent's own settings override all others, so
    that the user's indexes are never opened.
    """
    document = copy.deepcopy(own)
    document.pop("socket", None)
    places: dict[str, Settings] = {f"agents.{other}.": {"enabled": False} for other in others}
    for place, changes in [("", {}), (f"agents.{agent}.", settings), *places.items()]:
        for key, value in (changes | {"store.path": index}).items():
            table: Settings = document
            parents, _, last = f"{place}search.{key}".rpartition(".")
            for parent in parents.split("."):
                if not isinstance(table.get(parent), dict):
                    table[parent] = {}
                table = table[parent]
            table[last] = value
    return document


@contextlib.contextmanager
def private_daemon(
    status: StatusReply, agent: str, settings: Settings, on_progress: Callable[[Progress], None]
) -> Iterator[Client]:
    """Run a daemon that has the user's settings, but others for one agent, and yield a client once it has indexed.

    `status` is that of the user's daemon.
    """
    import tomlkit

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # so that they end the block, as Ctrl-C does
    own = load_memd_toml(daemon_config_file())
    if own.problem is not None:
        raise own.problem
    others = [each.agent for each in status.agents if each.agent != agent]
    with tempfile.TemporaryDirectory(prefix="memd-eval-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        config = folder / "memd.toml"
        document = private_document(
            dict(own.tables or {}), agent, others, settings, str(folder / "{agentId}.sqlite")
        )
        config.write_text(tomlkit.dumps(document), "utf-8")
        variables = {
            "MEMD_CONFIG": str(config),
            "OPENCLAW_STATE_DIR": status.state_dir,
            "OPENCLAW_CONFIG_PATH": status.config_path,
        }
        _check_settings(variables, agent, settings)
        assignments = [f"{name}={value}" for name, value in variables.items()]
        socket = str(folder / "memd.sock")
        process = discovery.start_daemon(socket, ["env", *assignments, *discovery.daemon_command()])
        try:
            with Client(socket, timeout_s=None) as client:
                _wait_until_ready(client, process)
                (indexed,) = client.index(agent=agent, on_progress=on_progress).agents
                if problem := indexed.error:
                    raise ConfigInvalidError(f"--compare: {problem.message}", hint=problem.hint)
                if settings.get("provider") != "none" and (degraded := indexed.degraded):
                    raise ConfigInvalidError(f"--compare: {degraded.reason}", hint=degraded.hint)
                yield client
        finally:
            process.terminate()
            process.wait()


def _check_settings(variables: Mapping[str, str], agent: str, settings: Settings) -> None:
    """Raise if a key of the settings doesn't exist, or has an invalid value."""
    home, _, problems = load_settings({**os.environ, **variables}, Path(discovery.home_directory()))
    prefix = f"agents.{agent}.search."
    for error in (*home.agents[agent].problems, *problems):
        place = str(error.data.get("key", "")).removeprefix(prefix)
        if any(f"{key}.".startswith(f"{place}.") for key in settings):
            what = error.message.removeprefix(f"{variables['MEMD_CONFIG']}: ").replace(prefix, "")
            raise ConfigInvalidError(f"--compare: {what}", hint=KEYS_HINT)


def _wait_until_ready(client: Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + discovery.START_TIMEOUT_S
    while True:
        has_ended = process.poll() is not None or time.monotonic() > deadline
        try:
            client.hello()
            return
        except DaemonUnreachableError:
            if has_ended:
                tail = discovery.log_tail(client.socket_path)
                message = f"the daemon for --compare did not start; its log ends with: {tail}"
                raise DaemonStartError(message) from None
        threading.Event().wait(discovery.START_POLL_INTERVAL_S)
