"""Seats for notes: transcripts outnumber them many times over, and must not crowd them out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from memd.search.rank.fusion import Ranked


def interleave_notes(
    ranked: Sequence[Ranked], is_transcript: Callable[[Ranked], bool], deserves_seat: Callable[[Ranked], bool]
) -> list[Ranked]:
    """Return results in an order in which transcripts never take more than every second place from a note.

    The order is by score, except that a note which deserves a seat comes before a better transcript where
    transcripts have had their half, rounded up. What stands on a place never depends on how many are wanted.
    """
    notes = deque(item for item in ranked if not is_transcript(item))
    transcripts = deque(item for item in ranked if is_transcript(item))
    place_of = {item.id: place for place, item in enumerate(ranked)}
    seated: list[Ranked] = []
    taken = 0
    while notes and transcripts:
        note_is_first = place_of[notes[0].id] < place_of[transcripts[0].id]
        had_their_half = taken >= (len(seated) + 2) // 2
        if note_is_first or (had_their_half and deserves_seat(notes[0])):
            seated.append(notes.popleft())
        else:
            seated.append(transcripts.popleft())
            taken += 1
    return [*seated, *notes, *transcripts]
