"""What leaves all machines: the history of remotes, and other machines, as far as they answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import trio
from msgspec.structs import replace

from memd.forget.places import ForgetPlan
from memd.replication.forgotten import Tombstones
from memd.replication.git.purge import find_objects
from memd.replication.replica import Replica
from memd.replication.runner import ReplicaRunner
from memd.sources.forgotten import Forget, ForgottenFile
from memd_client.errors import MemdError
from memd_client.messages import ForgetCheck, ForgetPlace, ForgetReceipt

HISTORY: Final = "remote's history"
MACHINE: Final = "other machine"
POLL_INTERVAL_S: Final = 1.0

UNANSWERED: Final = "it didn't answer yet; it forgets at its next sync, unless its release of memd can't"
UNCHECKED: Final = "the server decides when it deletes objects that nothing leads to"


Runners = Mapping[str, ReplicaRunner]
"""The replicas of this machine, by agent."""


async def visit_history(replicas: Runners, plan: ForgetPlan) -> list[ForgetPlace]:
    """Visit the history of agents' memory, which remotes have too; `share_forget` erases it."""
    rows = []
    for name, runner in replicas.items() if plan.is_everywhere else ():
        found, _ = await find_objects(runner.replica.repository.git, plan.forgotten.has, "--branches")
        if found:
            rows.append(ForgetPlace(HISTORY, name, runner.replica.exchange.remote.shown, len(found)))
    return rows


def must_share(forget: Forget) -> bool:
    """Return whether a remote or another machine has not forgotten yet what leaves all machines."""
    receipt, rows = forget.receipt, [row for row in forget.receipt.places if row.place in (HISTORY, MACHINE)]
    is_own = (
        not receipt.agents and receipt.state == "done" and not any(stone.salt for stone in forget.tombstones)
    )
    return is_own and not (rows and all(row.state == "erased" for row in rows))


async def share_forget(
    file: ForgottenFile, forget: Forget, replicas: Runners, wait_s: float
) -> ForgetReceipt:
    """Remove texts from the remotes of all agents, ask other machines, and return the receipt with the result."""
    before = {row.agent: row for row in forget.receipt.places if row.place == HISTORY}
    rows = [
        row
        for row in forget.receipt.places
        if row.place not in (HISTORY, MACHINE) or row.agent not in replicas
    ]
    for name, runner in list(replicas.items()):
        row = before.get(name) or ForgetPlace(HISTORY, name, runner.replica.exchange.remote.shown, 0)
        try:
            rows += await _share(file.salted(forget), runner.replica, row, wait_s)
        except MemdError as error:
            rows.append(replace(row, state="failed", reason=error.message))
    checks = {
        location: ForgetCheck(location, digest, count)
        for runner in replicas.values()
        for location, (count, digest) in runner.replica.exchange.checked.items()
    }
    checked = [check for check in forget.receipt.checked if check.location not in checks]
    return replace(forget.receipt, places=rows, checked=checked + list(checks.values()))


async def _share(
    tombstones: Tombstones, replica: Replica, row: ForgetPlace, wait_s: float
) -> list[ForgetPlace]:
    """Return the rows of one remote and of its machines."""
    exchange = replica.exchange
    if not tombstones <= exchange.forgotten.by_machine.get(replica.machine, frozenset()):
        await replica.forget(tombstones)
    answers = await replica.find_answers(tombstones)
    with trio.move_on_after(wait_s):
        while None in answers.values():
            await trio.sleep(POLL_INTERVAL_S)
            answers = await replica.find_answers(tombstones)
    left = sum(count for count, _ in exchange.checked.values())
    reason = f"{left} objects still contain it" if left else UNCHECKED if len(exchange.checked) < 2 else ""
    rows = [replace(row, state="failed" if left else "erased", reason=reason)]
    for name, at_ms in answers.items():
        machine = ForgetPlace(MACHINE, row.agent, name, 0, "erased" if at_ms else "failed", UNANSWERED)
        time = datetime.fromtimestamp((at_ms or 0) / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        rows.append(replace(machine, reason=f"forgotten at {time}") if at_ms else machine)
    return rows
