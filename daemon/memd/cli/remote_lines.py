"""The lines of a remote in `memctl remote` and `memctl status`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memd.cli.lines import (
    LABEL_INDENT,
    Line,
    Piece,
    ago,
    count,
    dotted,
    line,
    listed,
    problem_lines,
    row,
    until,
)

if TYPE_CHECKING:
    from memd_client.messages import MachineStatus, RemoteStatus

STATES = {
    "ok": ("in sync", "good"),
    "pending": ("changes wait to be sent", "good"),
    "offline": ("offline", "warn"),
    "refused": ("refused", "bad"),
    "failed": ("failed", "bad"),
    "held": ("files are missing", "bad"),
    "paused": ("paused", "warn"),
}
"""Text and style of the states of a remote."""


def remote_lines(remote: RemoteStatus, now_ms: int, *, with_agent: bool = False) -> list[Line]:
    """Return a remote with its machines, conflicts and problem."""
    facts = dotted(
        STATES.get(remote.state, (remote.state, "warn")),
        count(remote.files, "file"),
        f"{count(remote.ahead, 'commit')} to send" if remote.ahead else None,
        "more to receive" if remote.is_behind else None,
        f"last sync {ago(remote.last_sync_ms, now_ms)}" if remote.last_sync_ms is not None else None,
    )
    lines = [line((remote.agent, "title"))] if with_agent else []
    lines += [row("remote", *facts), line((remote.url, "path"), indent=LABEL_INDENT)]
    if remote.problem is not None:
        lines += problem_lines([remote.problem])
        if remote.next_sync_ms is not None:
            lines.append(
                line((f"next attempt {until(remote.next_sync_ms, now_ms)}", "quiet"), indent=LABEL_INDENT)
            )
    lines += [row("machine", *dotted(*_machine(each, remote, now_ms))) for each in remote.machines]
    conflicts = [(each.path, f": lines of {each.machine} for {each.note}") for each in remote.conflicts]
    lines += listed("conflicts", "file", conflicts)
    for label, files in (("waiting", remote.waiting), ("left out", remote.excluded)):
        lines += listed(label, "file", [(each.path, f": {each.reason}") for each in files])
    return lines


def _machine(machine: MachineStatus, remote: RemoteStatus, now_ms: int) -> list[Piece | None]:
    """Return a machine's name and how far it is behind or ahead."""
    if machine.is_local:
        ahead = f"{count(remote.ahead, 'commit')} ahead" if remote.ahead else None
        behind = "behind" if remote.is_behind else None
        return [(machine.name, "place"), "this machine", ahead, behind or (None if ahead else "up to date")]
    behind = (
        "unknown"
        if machine.behind < 0
        else f"{count(machine.behind, 'commit')} behind"
        if machine.behind
        else "up to date"
    )
    seen = (
        None
        if machine.at_ms is None or not machine.behind
        else f"has what was written {ago(machine.at_ms, now_ms)}"
    )
    return [(machine.name, "place"), behind, seen]
