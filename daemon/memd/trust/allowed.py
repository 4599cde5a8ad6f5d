"""What the user released of the lines that are withheld from models, in a file outside the notes.

A released line is stored as a salted hash, so that lines that are added later are judged anew and the file has no text.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd.system.state_file import load_whole, replace_whole
from memd.text.trust.origins import AGENT, OUTSIDE, LineOrigins

TRUST_FILE: Final = "memd-trust.json"
"""All agents share it: a salt and the hashes of the released lines, by agent and path."""


class Allowed:
    """What the user released of one agent's memory (blocking); a missing or damaged file releases nothing."""

    def __init__(self, file: Path, agent_id: str) -> None:
        self._file = file
        self._agent_id = agent_id

    def counts(self) -> dict[str, int]:
        """Return the number of released lines by path."""
        return {path: len(row) - 1 for path, row in self._load().get(self._agent_id, {}).items()}

    def change(self, path: str, lines: Sequence[str]) -> None:
        """Release lines of a file in addition to earlier ones; without any, take back all its releases."""
        agents = self._load()
        paths = agents.setdefault(self._agent_id, {})
        salt, *hashes = paths.pop(path, None) or [secrets.token_hex(16)]
        if lines:
            paths[path] = [salt, *sorted({*hashes, *(_hash(salt, line) for line in lines)})]
        replace_whole(self._file, msgspec.json.encode(agents))

    def with_releases(self, path: str, lines: Sequence[str], origins: LineOrigins) -> LineOrigins:
        """Return the origins of a file's lines with the released ones no longer outside: they count as the agent's."""
        numbers = bytearray(origins.numbers[: len(lines)].ljust(len(lines), bytes([origins.default])))
        if OUTSIDE not in numbers:
            return origins
        salt, *hashes = self._load().get(self._agent_id, {}).get(path) or [""]
        for at, line in enumerate(lines if hashes else ()):
            if numbers[at] == OUTSIDE and _hash(salt, line) in hashes:
                numbers[at] = AGENT
        return LineOrigins(bytes(numbers), origins.default, origins.reasons)

    def _load(self) -> dict[str, dict[str, list[str]]]:
        try:
            data = load_whole(self._file, 16_000_000)
            return msgspec.json.decode(data, type=dict[str, dict[str, list[str]]])
        except (OSError, ValueError, msgspec.MsgspecError):
            return {}


def _hash(salt: str, line: str) -> str:
    """Return the hash of a line without white space, which long lines lose where they are cut into chunks."""
    return hmac.digest(salt.encode(), "".join(line.split()).encode("utf-8", "replace"), "sha256").hex()[:32]
