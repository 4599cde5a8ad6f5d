"""Request that forgets a text, a fact, a note or a conversation everywhere, with a receipt.

A receipt contains locations, counts and hashes, but never the forgotten text. All times are epoch milliseconds.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import AgentId, one_of
from memd_client.schema import Record

MAX_TARGET_CHARS = 10_000
"""Most characters of a target."""


class ForgetParams(Record, frozen=True):
    """Find what would be forgotten, forget it, list receipts, or undo.

    Attributes:
        action: `find` changes nothing; `forget` needs `confirmed`; `receipts` lists receipts; `undo` takes back
            `receipt`.
        target: The id of a fact, the path of a note, the path or id of a conversation, an exact text, or a query. A
            text in double quotes is exact, however short it is.
        agent: The agent's id; None: the default agent.
        everywhere: All agents of this machine, their remotes and other machines.
        confirmed: The `found_id` of a reply to `find` that the user has confirmed.
        receipt: The id of a receipt; empty: the newest.

    Returns:
        For `find`, `kind`, `statements`, `places` and `found_id`; for all other actions `receipts`.

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: The target is too short, the memory has changed since `confirmed`, or there is no such receipt.
        FileMissingError: Nothing matches the target.
        MemoryDisabledError: The agent's settings turn memory off.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. A forget that was
            begun is finished by the daemon, also after it was killed.
    """

    action: Annotated[str, one_of("find", "forget", "receipts", "undo")] = "find"
    target: Annotated[str, Meta(max_length=MAX_TARGET_CHARS)] = ""
    agent: AgentId | None = None
    everywhere: bool = False
    confirmed: Annotated[str, Meta(max_length=64)] = ""
    receipt: Annotated[str, Meta(max_length=64)] = ""


class ForgetStatement(Record, frozen=True):
    """A text that would be forgotten.

    Attributes:
        text: The text.
        citation: Where it was found; empty for a text that was passed.
    """

    text: str
    citation: str = ""


class ForgetPlace(Record, frozen=True):
    """What one place contains of a text, or contained before it was forgotten.

    Attributes:
        place: `notes`, `facts`, `conversations`, `retained copies`, `index`, `recall log`, `trash` or another place.
        agent: The agent; empty if the place belongs to all agents.
        location: The file.
        count: Number of occurrences.
        state: `found`; afterwards `erased`, `retained` (it is part of another note), `hidden` (memd can't change the
            file, and masks the text when it reads it) or `failed`.
        reason: Why it wasn't erased.
    """

    place: str
    agent: str
    location: str
    count: int
    state: str = "found"
    reason: str = ""


class ForgetCheck(Record, frozen=True):
    """A file whose bytes were searched afterwards.

    Attributes:
        location: The file.
        sha256: The hash of its bytes.
        count: How often they contain a forgotten text, as far as is known; 0 if all is gone.
    """

    location: str
    sha256: str
    count: int = 0


class ForgetReceipt(Record, frozen=True):
    """What was forgotten, without the text.

    Attributes:
        id: Its id.
        kind: `text`, `fact`, `note` or `conversation`.
        time_ms: When it was confirmed.
        agents: The agents; empty: all.
        texts: Number of different texts.
        state: `pending` until all places were erased and checked, then `done`; `undone` after `undo`.
        places: What was in which place.
        checked: The files that were searched afterwards.
        unreachable: What may still contain the text, because memd can't or must not change it.
        trash_until_ms: When removed notes leave the trash; 0: nothing is in it.
    """

    id: str
    kind: str
    time_ms: int
    agents: list[str] = field(default_factory=list)
    texts: int = 0
    state: str = "pending"
    places: list[ForgetPlace] = field(default_factory=list)
    checked: list[ForgetCheck] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    trash_until_ms: int = 0


class ForgetReply(Record, frozen=True):
    """What would be forgotten, or receipts.

    Attributes:
        kind: What the target is: `text`, `fact`, `note` or `conversation`.
        statements: The texts that would be forgotten.
        places: Where they are.
        found_id: Confirms exactly this in a request `forget`.
        receipts: The receipt of what was forgotten or undone, or all of them, the newest first.
    """

    kind: str = ""
    statements: list[ForgetStatement] = field(default_factory=list)
    places: list[ForgetPlace] = field(default_factory=list)
    found_id: str = ""
    receipts: list[ForgetReceipt] = field(default_factory=list)
