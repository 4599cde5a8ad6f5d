"""Processes stopped while writing a file: the temporary file is complete but not yet renamed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WRITERS = {
    "state": "from memd.system.state_file import replace_whole; replace_whole(Path(sys.argv[1]) / 's.json', b'x' * 9)",
    "settings": "from memd.system.state_file import replace_synced;"
    " replace_synced(Path(sys.argv[1]) / 's.json', b'x', 0o600)",
    "note": "from memd.lifecycle.files.writing import create; create(Path(sys.argv[1]), 'memory/a/n.md', 'x')",
    "fact": "from memd.lifecycle.files.writing import change; change(Path(sys.argv[1]), 'memory/f.md', lambda _: 'x')",
    "index": "from memd.index.integrity.takeover import make_index; make_index(Path(sys.argv[1]) / 'i.sqlite')",
}
"""Statements that write a file, by kind of file."""

STOP_BEFORE_THE_MOVE = """
import os, sys, time
from pathlib import Path
def stop(*_, **__):
    sys.stdout.write("written\\n"); sys.stdout.flush()
    while True: time.sleep(60)
os.replace = os.link = stop
"""


def stopped_writer(folder: Path, what: str) -> subprocess.Popen[str]:
    """Start a process that writes a file, and return once its temporary file is complete but not renamed."""
    process = subprocess.Popen(
        [sys.executable, "-c", STOP_BEFORE_THE_MOVE + WRITERS[what], str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process
