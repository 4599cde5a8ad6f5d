"""What the daemon and the processes that search beside it tell each other: msgpack behind its length, by two pipes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from memd.index.keyword import Scope
from memd.search.query import Found, LineCheck, Question
from memd.settings.schema import Query
from memd_client.messages import Hit

HEAD_BYTES: Final = 4
"""A frame's length, most significant byte first."""

READ_BYTES: Final = 256 * 1024
"""Read from a pipe at once."""

TOGETHER: Final = 4
"""Searches that a process answers in step at most. With more of them each costs a little less, the first waits longer
for the last, and all in all no more are answered."""


class Search(msgspec.Struct, tag="search"):
    """Find what answers a question; `Answer` or `Failed` follows. `vector` is float32, little-endian."""

    id: int
    index: str
    query: str
    settings: Query
    max_results: int
    min_score: float | None
    scope: Scope | None
    notes_scope: Scope | None
    now_ms: int
    vector: bytes
    space_id: str
    model: str
    explain: bool
    active_projects: tuple[str, ...] = ()


class Hold(msgspec.Struct, tag="hold"):
    """Open an index and bring its vectors into memory; `Held` or `Failed` follows."""

    id: int
    index: str
    space_id: str


class Change(msgspec.Struct, tag="change"):
    """Vectors of an index went out of use, and came into it, by what was committed before this was said.

    `text` is the index's generation after that and the file, where it changed a file's chunks.
    """

    index: str
    space_id: str
    gone: list[int]
    come: list[int]
    text: tuple[int, str] | None = None


class Forget(msgspec.Struct, tag="forget"):
    """Close an index, and give its vectors' memory back."""

    index: str


class Answer(msgspec.Struct, tag="answer"):
    """What was found, as `memd.search.query.Found` has it; hits by the names of their fields."""

    id: int
    hits: list[dict[str, Any]]
    mode: str
    generation: int
    abstained: bool
    timings: dict[str, float]
    closer_look: LineCheck | None
    held: list[int]


class Held(msgspec.Struct, tag="held"):
    """An index is open, its vectors are in memory."""

    id: int


class Failed(msgspec.Struct, tag="failed"):
    """What was asked for can't be done; `error` names the exception's type, for the log."""

    id: int
    error: str


Request = Search | Hold | Change | Forget
Reply = Answer | Held | Failed

_ENCODER: Final = msgspec.msgpack.Encoder()
_REQUESTS: Final = msgspec.msgpack.Decoder(Request)
_REPLIES: Final = msgspec.msgpack.Decoder(Reply)


def frame_of(message: Request | Reply) -> bytes:
    """Return a message as it is sent."""
    data = _ENCODER.encode(message)
    return len(data).to_bytes(HEAD_BYTES, "big") + data


def take_requests(buffer: bytearray) -> Iterator[Request]:
    """Take the whole requests out of what was received so far, and yield them."""
    return map(_REQUESTS.decode, _take_frames(buffer))


def take_replies(buffer: bytearray) -> Iterator[Reply]:
    """Take the whole replies out of what was received so far, and yield them."""
    return map(_REPLIES.decode, _take_frames(buffer))


def _take_frames(buffer: bytearray) -> Iterator[bytes]:
    while len(buffer) >= HEAD_BYTES:
        end = HEAD_BYTES + int.from_bytes(buffer[:HEAD_BYTES], "big")
        if len(buffer) < end:
            return
        data = bytes(buffer[HEAD_BYTES:end])
        del buffer[:end]
        yield data


def search_of(number: int, index: str, question: Question) -> Search:
    """Return the request for a question whose vector is known."""
    assert question.vector is not None
    return Search(
        id=number,
        index=index,
        query=question.query,
        settings=question.settings,
        max_results=question.max_results,
        min_score=question.min_score,
        scope=question.scope,
        notes_scope=question.notes_scope,
        now_ms=question.now_ms,
        vector=question.vector.astype("<f4").tobytes(),
        space_id=question.space_id,
        model=question.model,
        explain=question.explain,
        active_projects=question.active_projects,
    )


def question_of(request: Search) -> Question:
    """Return the prepared search of a request."""
    return Question(
        query=request.query,
        settings=request.settings,
        max_results=request.max_results,
        min_score=request.min_score,
        scope=request.scope,
        now_ms=request.now_ms,
        vector=np.frombuffer(request.vector, dtype="<f4").astype(np.float32),
        space_id=request.space_id,
        model=request.model,
        notes_scope=request.notes_scope,
        explain=request.explain,
        active_projects=request.active_projects,
    )


def answer_of(number: int, found: Found) -> Answer:
    """Return the reply to a search."""
    hits = [vars(hit) for hit in found.hits]
    return Answer(
        number,
        hits,
        found.mode,
        found.generation,
        found.abstained,
        found.timings,
        found.closer_look,
        list(found.held),
    )


def found_of(answer: Answer) -> Found:
    """Return what a search found."""
    return Found(
        [Hit(**hit) for hit in answer.hits],
        answer.mode,
        answer.generation,
        answer.abstained,
        answer.timings,
        answer.closer_look,
        answer.held,
    )
