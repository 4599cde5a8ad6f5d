"""Which memory files OpenClaw recorded as written under the influence of text from outside, in its state database."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from memd.programs.program import LOG_ENDING, FileFacts, file_facts
from memd.system.sqlite import ForeignDatabaseError, opened_foreign

_QUERY = """SELECT entry_key FROM plugin_state_entries WHERE plugin_id = 'core:memory-artifact-provenance'
            AND namespace = 'workspace-files' AND json_valid(value_json)
            AND value_json ->> 'originClass' = 'untrusted'"""


def is_untrusted(database: str, workspace: str, path: str) -> bool:
    """Return whether OpenClaw recorded a file of a workspace as untrusted (blocking); without its database, False."""
    state = file_facts(database), file_facts(f"{database}{LOG_ENDING}")
    names = os.path.realpath(workspace), path
    key = ":".join(sha256(name.encode("utf-8", "replace")).hexdigest() for name in names)
    return bool(state[0]) and key in _read(database, state)


@lru_cache(maxsize=8)
def _read(database: str, _state: tuple[FileFacts, FileFacts]) -> frozenset[str]:
    try:
        with opened_foreign(Path(database)) as db:
            return frozenset(str(row[0]) for row in db.execute(_QUERY))
    except ForeignDatabaseError:
        return frozenset()
