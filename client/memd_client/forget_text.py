"""What `memctl forget` prints: what was found, and receipts, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from memd_client.forget import ForgetPlace, ForgetReceipt, ForgetReply


def reply_lines(reply: ForgetReply) -> Iterator[str]:
    """Yield what would be forgotten, and where it is."""
    if reply.statements:
        yield f"to forget: {reply.kind}"
    for statement in reply.statements:
        yield f"  {statement.text}" + (f"  ({statement.citation})" if statement.citation else "")
    if reply.places:
        yield "found in"
    yield from _place_lines(reply.places)


def receipt_lines(receipt: ForgetReceipt, *, is_listed: bool = False) -> Iterator[str]:
    """Yield a receipt; in a list without what was checked and what memd can't reach."""
    time = datetime.fromtimestamp(receipt.time_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    agents = ", ".join(receipt.agents) or "all agents"
    yield f"receipt {receipt.id}  {time}  {receipt.kind}, {agents}: {receipt.state}"
    yield from _place_lines(receipt.places)
    if is_listed:
        return
    found = [check for check in receipt.checked if check.count]
    if receipt.checked:
        yield f"  checked: the bytes of {len(receipt.checked)} files, {len(found)} of them still contain it"
    for check in receipt.checked:
        yield f"    sha256 {check.sha256[:16]}…  {check.location}" + (
            "  STILL CONTAINS IT" if check.count else ""
        )
    if receipt.trash_until_ms:
        until = datetime.fromtimestamp(receipt.trash_until_ms // 1000, UTC).strftime("%Y-%m-%d")
        yield f"  in the trash until {until}: `memctl forget --undo {receipt.id}` restores it"
    if receipt.unreachable:
        yield "  memd can't reach"
    for text in receipt.unreachable:
        yield f"    {text}"


def _place_lines(places: list[ForgetPlace]) -> Iterator[str]:
    for place in places:
        reason = f"  ({place.reason})" if place.reason else ""
        yield f"  {place.count:>4}  {place.place:<16} {place.state:<8} {place.location}{reason}"
