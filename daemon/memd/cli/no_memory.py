"""What commands say that found no notes, on a machine where no memory is set up."""

from __future__ import annotations

import os
from pathlib import Path

from memd.cli.connect import Session


def offer_sample(session: Session) -> None:
    """Say how to get a memory, if none is set up on this machine."""
    if session.has_memory():
        return
    from memd.system.state_dirs import own_state_dir
    from memd_client.discovery import home_directory

    notes = own_state_dir(os.environ, Path(home_directory())) / "workspace" / "memory"
    session.output.note("no OpenClaw and no notes here; to try searches on a sample memory: memctl sample")
    session.output.note(f"Markdown notes of your own go into {notes}, or name their folder in memd.toml")
