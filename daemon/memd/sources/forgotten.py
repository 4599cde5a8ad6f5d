"""What was forgotten: the tombstones and receipts of this machine in one file, without any text."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from memd.index.integrity.quarantine import sync_directory
from memd.system.state_file import load_whole, replace_synced
from memd.text.forgotten import Forgotten, Tombstone
from memd_client.errors import MemdError
from memd_client.messages import ForgetReceipt

FILE: Final = "forgotten.json"
TRASH: Final = "forgotten"
MAX_FILE_BYTES: Final = 256 * 1_048_576

ForgottenOf: TypeAlias = Callable[[], Forgotten]


class Forget(Struct):
    """One forget: its receipt, its tombstones, and the agents and paths of notes that it removes while `pending`."""

    receipt: ForgetReceipt
    tombstones: list[Tombstone]
    notes: list[tuple[str, str]] = field(default_factory=list)


class _File(Struct):
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    forgets: list[Forget] = field(default_factory=list)


class ForgottenFile:
    """The forgets of this machine, oldest first. Without a readable file memd doesn't start: texts would come back."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file = _File()
        self._cache: dict[str, Forgotten] = {}
        try:
            self._file = msgspec.json.decode(load_whole(self._path, MAX_FILE_BYTES), type=_File)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, ValueError) as error:
            hint = "restore it from a backup; if you remove it, forgotten texts come back"
            raise MemdError(f"{self._path} can't be read: {type(error).__name__}", hint=hint) from None

    @property
    def forgets(self) -> list[Forget]:
        """All forgets; call `save` after a change."""
        return self._file.forgets

    def save(self) -> None:
        """Write the file durably (blocking)."""
        self._cache = {}
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        replace_synced(self._path, msgspec.json.encode(self._file), 0o600)
        sync_directory(self._path.parent)

    def of(self, agent: str) -> Forgotten:
        """Return what was forgotten for an agent."""
        if agent not in self._cache:
            rows = ((forget.receipt, forget.tombstones) for forget in self.forgets)
            self._cache[agent] = self.only(
                stones for it, stones in rows if it.state != "undone" and agent in (it.agents or [agent])
            )
        return self._cache[agent]

    def salted(self, forget: Forget) -> frozenset[Tombstone]:
        """Return the tombstones of a forget as other machines can use them."""
        salt = self._file.salt.hex()
        return frozenset(replace(stone, salt=stone.salt or salt) for stone in forget.tombstones)

    def only(self, tombstones: Iterable[Iterable[Tombstone]]) -> Forgotten:
        """Return what some tombstones recognize."""
        return Forgotten(self._file.salt, list(chain.from_iterable(tombstones)))


def conversation_text(path: str) -> str:
    """Return the text whose tombstone forgets a whole conversation, by its path in the index."""
    return f"conversation {path}"
