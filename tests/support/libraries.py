"""Small C libraries that tests load into a daemon."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


@functools.cache
def compile_library(source: str) -> Path:
    """Return a shared library compiled from C source, once; skip the test without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (`cc`) to make the library with that this test loads into a daemon")
    folder = Path(tempfile.mkdtemp(prefix="memd-lib-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "library.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library), "-ldl"],
        input=source,
        text=True,
        check=True,
        timeout=120,
    )
    return library
