"""Conversations of Kimi CLI: below a folder for each working directory, which is named by a hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec.structs import replace

from memd.programs.conversation import Session
from memd.programs.lines import LinesFiles, field, read_json
from memd.programs.records import text_of
from memd.programs.small_files import paths_in


class KimiCliFiles(LinesFiles):
    """Kimi CLI's folder of sessions."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title in the session's state, and the working directory that has the folder's hash."""
        details = super().read_details(folder, session_id)
        name = next((path for path in paths_in(folder) if os.path.isdir(f"{path}/{session_id}")), "")
        listed = field(read_json(f"{folder.parent}/kimi.json"), "work_dirs") if name else None
        for path in (text_of(field(entry, "path")) for entry in (listed if isinstance(listed, list) else ())):
            hashed = hashlib.md5(path.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            if path and name.endswith(hashed):
                return replace(details or Session(session_id), cwd=path)
        return details
