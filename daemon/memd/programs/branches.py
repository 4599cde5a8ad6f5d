"""The tree of a transcript's records: which branches a person abandoned by going back to an earlier message.

Records are added in the order of the file, and each names its parent. Going back leaves a branch behind, and so do two
terminals in one session, which append to different branches in turn. What differs is the order: an abandoned branch
ends before the person's next message at the same parent. If its conversation continues later than that, both are kept.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

RecordKind: TypeAlias = Literal[0, 1, 2]

OTHER: Final = 0
"""A record without a message: it may be between a message and its parent."""

MESSAGE: Final = 1
"""An answer, a tool result or another record of a turn."""

PROMPT: Final = 2
"""A person's message: at a parent with an older branch, it may be its replacement."""

NO_PARENT: Final = -1
FIRST_PROMPT: Final = -2
"""Parent of a person's message that says that it has none: another one replaces the whole conversation."""


class Branches:
    """The tree of records of one transcript.

    Cycles can't occur: a parent is always an earlier record, and a record that names a later one has no parent.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parents: list[int] = []
        self._kinds = bytearray()
        self._has_child = bytearray()
        self._has_branches = False
        self._first_prompts = 0

    def number_of(self, uuid: object) -> int | None:
        """Return the number of a record by its id, None if there is none so far."""
        return self._numbers.get(uuid) if isinstance(uuid, str) else None

    def newest(self) -> int:
        """Return the number of the newest record, `NO_PARENT` without one."""
        return len(self._parents) - 1

    def add(self, uuid: str, parent: int, kind: RecordKind) -> int:
        """Add a record and return its number; `parent` is a number, `NO_PARENT` or `FIRST_PROMPT`."""
        number = len(self._parents)
        self._numbers.setdefault(uuid, number)
        self._parents.append(parent)
        self._kinds.append(kind)
        self._has_child.append(0)
        if parent >= 0:
            self._has_branches = self._has_branches or bool(self._has_child[parent])
            self._has_child[parent] = 1
        elif parent == FIRST_PROMPT:
            self._first_prompts += 1
        return number

    def abandoned(self) -> frozenset[int]:
        """Return the numbers of the records in abandoned branches."""
        if not self._has_branches and self._first_prompts < 2:
            return frozenset()
        count = len(self._parents)
        last_message, replaced_from = self._ends()
        gone = bytearray(count)
        for number, parent in enumerate(self._parents):
            if parent == NO_PARENT:
                continue
            # An index of -2 is that of the root, see `_ends`.
            gone[number] = last_message[number] < replaced_from[parent] or (parent >= 0 and gone[parent])
        return frozenset(number for number in range(count) if gone[number])

    def _ends(self) -> tuple[list[int], list[int]]:
        """Return the last message in each record's branch, and each record's newest child that begins with a prompt.

        The second list has the newest prompt without a parent at index -2; -1 means none.
        """
        count = len(self._parents)
        last_message = [number if self._kinds[number] else -1 for number in range(count)]
        replaced_from = [-1] * (count + 2)
        begins_with_prompt = bytearray(kind == PROMPT for kind in self._kinds)
        for number in range(count - 1, -1, -1):
            parent = self._parents[number]
            if parent == NO_PARENT:
                continue
            if begins_with_prompt[number] and replaced_from[parent] < 0:
                replaced_from[parent] = number
            if parent >= 0:
                last_message[parent] = max(last_message[parent], last_message[number])
                if begins_with_prompt[number] and not self._kinds[parent]:
                    begins_with_prompt[parent] = 1
        return last_message, replaced_from
