"""Shell commands that install memd, or an extra of it, into the environment of this Python.

Hints print them, so they must work when pasted. The module is imported only for a hint.
"""

from __future__ import annotations

import json
import os
import re
import sys
from glob import escape, glob
from importlib.metadata import Distribution, distributions
from shlex import join

TYPE_CHECKING = False  # as in the rest of the client
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLIENT = "memd-client"
DAEMON = "memd-daemon"

GUIDE = "docs/install.md"
"""The guide to name if the origin of an installation is unknown."""


class Installation:
    """A Python environment with memd's client, and usually its daemon.

    Args:
        python: Its interpreter; None: this one.
        prefix: Its directory; None: that of this interpreter.
        path: The search path of its packages; None: `sys.path`.
    """

    def __init__(
        self, python: str | None = None, prefix: str | None = None, path: Sequence[str] | None = None
    ) -> None:
        self._python = python or sys.executable or "python3"
        self._prefix = os.path.realpath(prefix or sys.prefix)
        self._path = list(sys.path if path is None else path)

    def add_extra(self, extra: str) -> str:
        """Return the command that adds an extra of the daemon: `lancedb`, `local`, `local-build` or `mcp`."""
        clone = self._clone()
        if clone is not None and extra in ("local", "local-build"):
            options = ["--build"] if extra == "local-build" else []
            return join([os.path.join(clone, "scripts", "run"), *options])
        return self._install(list(self._requirements_of(extra)) or [f"{DAEMON}[{extra}]"])

    def add(self, package: str) -> str:
        """Return the command that installs a package in a release that the daemon requires."""
        return self._install([self._requirement(package)])

    def reinstall(self, package: str) -> str:
        """Return the command that reinstalls a package in a release that the daemon requires."""
        requirement = self._requirement(package)
        if self._is_pipx():
            name = os.path.basename(self._prefix)
            return join(["pipx", "runpip", name, "install", "--force-reinstall", requirement])
        return join([*self._installer(), self._reinstall_option(), requirement])

    def repair_hint(self) -> str:
        """Return a hint with the command that reinstalls the daemon and its requirements."""
        command = self._repair()
        if command is None:
            return f"reinstall {DAEMON} as described in {GUIDE}"
        return f"reinstall memd with `{command}`"

    def daemon_hint(self) -> str:
        """Return a hint that tells a user of the client alone how to install the daemon."""
        clone = self._clone()
        if clone is not None:
            return f"install it with `{join([os.path.join(clone, 'scripts', 'run')])}`"
        found = self._daemon_requirement()
        if found:
            return f"install it with `{self._install(found)}`"
        return f"install {DAEMON} as described in {GUIDE}, with its program memd on PATH"

    def _repair(self) -> str | None:
        clone, name = self._clone(), os.path.basename(self._prefix)
        if clone is not None:
            return f"{join(['rm', '-r', self._prefix])} && {join([os.path.join(clone, 'scripts', 'run')])}"
        if self._is_uv_tool():
            return join(["uv", "tool", "upgrade", "--reinstall", name])
        if self._is_pipx():
            return join(["pipx", "reinstall", name])
        sources = [self._source(name) for name in (CLIENT, DAEMON)]
        if not all(sources):
            return None
        return join(
            [*self._installer(), self._reinstall_option(), *(each for part in sources for each in part)]
        )

    def _install(self, requirements: Sequence[str]) -> str:
        return join([*self._installer(), *requirements])

    def _installer(self) -> list[str]:
        """Return the command that installs the packages appended to it."""
        if self._is_pipx():
            return ["pipx", "inject", os.path.basename(self._prefix)]
        has_pip = self._distribution("pip") is not None
        pip = self._python if has_pip else self._base_python_with_pip()
        if self._is_uv_tool() or pip is None:
            return ["uv", "pip", "install", "--python", self._python]
        return [pip, "-m", "pip", *([] if has_pip else ["--python", self._python]), "install"]

    def _base_python_with_pip(self) -> str | None:
        """Return the base interpreter of a virtual environment if it has pip; None if it has none, as with uv."""
        try:
            with open(os.path.join(self._prefix, "pyvenv.cfg"), encoding="utf-8") as file:
                facts = dict(re.findall(r"^(\w+) *= *(.*)$", file.read(), re.MULTILINE))
        except (OSError, ValueError):
            return None
        home = facts.get("home", "")
        return os.path.join(home, "python3") if os.path.isfile(os.path.join(home, "pip3")) else None

    def _reinstall_option(self) -> str:
        return "--reinstall" if self._installer()[0] == "uv" else "--force-reinstall"

    def _is_uv_tool(self) -> bool:
        return os.path.isfile(os.path.join(self._prefix, "uv-receipt.toml"))

    def _is_pipx(self) -> bool:
        return os.path.isfile(os.path.join(self._prefix, "pipx_metadata.json"))

    def _clone(self) -> str | None:
        """Return the checkout whose `scripts/run` created this environment."""
        root = os.path.dirname(self._prefix)
        if os.path.basename(self._prefix) != ".venv" or not os.path.isfile(f"{root}/scripts/run"):
            return None
        origins = ((CLIENT, f"{root}/client"), (DAEMON, f"{root}/daemon"))
        return root if any(self._source(name) == ["-e", folder] for name, folder in origins) else None

    def _daemon_requirement(self) -> list[str]:
        """Return pip's arguments for the daemon from the source of this client; empty if it is not there."""
        source = self._source(CLIENT)
        if not source:
            return []
        *options, origin = source
        folder, client = os.path.dirname(origin), self._distribution(CLIENT)
        if os.path.isfile(f"{folder}/daemon/pyproject.toml"):
            return [*options, f"{folder}/daemon"]
        version = client.version if client is not None else "*"
        return sorted(glob(f"{escape(folder)}/memd_daemon-{version}-*.whl"))[-1:]

    def _source(self, name: str) -> list[str]:
        """Return pip's arguments for the local file or directory that a package was installed from, if any."""
        found = self._distribution(name)
        try:
            facts = json.loads((found.read_text("direct_url.json") if found is not None else "") or "{}")
        except ValueError:
            return []
        from urllib.parse import unquote, urlsplit

        url = urlsplit(facts.get("url", ""))
        origin = unquote(url.path)
        if url.scheme != "file" or not os.path.exists(origin):
            return []
        return ["-e", origin] if facts.get("dir_info", {}).get("editable") else [origin]

    def _requirement(self, package: str) -> str:
        """Return a package with the releases that the daemon requires."""
        same = re.compile(rf"{re.escape(package)}\b(?!-)", re.IGNORECASE)
        return next((each for each, _ in self._requirements() if same.match(each)), package)

    def _requirements_of(self, extra: str) -> Iterator[str]:
        return (each for each, marker in self._requirements() if f"extra == '{extra}'" in marker)

    def _requirements(self) -> Iterator[tuple[str, str]]:
        """Yield each requirement of the daemon and its marker, with single quotes."""
        daemon = self._distribution(DAEMON)
        for each in (daemon.requires if daemon is not None else None) or []:
            requirement, _, marker = each.partition(";")
            yield requirement.strip(), marker.replace('"', "'")

    def _distribution(self, name: str) -> Distribution | None:
        return next(iter(distributions(name=name, path=self._path)), None)
