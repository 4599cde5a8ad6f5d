"""An owner with one model that is none, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import trio
import trio.testing

from memd.embedding.local.owner import ModelFile, ModelHold, ModelOwner
from memd.embedding.local.policy import ModelStatus, RunnerSettings
from tests.support import fake_model_child as fake
from tests.support.models import running_owner

Test = Callable[[ModelOwner, ModelHold], Awaitable[None]]
PATIENT = RunnerSettings(command=fake.COMMAND, query_timeout_s=20, text_timeout_s=20, load_timeout_s=20)
HURRIED = RunnerSettings(command=fake.COMMAND, query_timeout_s=0.6, text_timeout_s=0.6, load_timeout_s=20)


def run(path: Path, test: Test, settings: RunnerSettings = PATIENT) -> None:
    """Run a test with an owner and a hold on one model."""

    async def body() -> None:
        async with running_owner(settings) as owner:
            await test(owner, owner.hold(ModelFile(path, "fake"), chunk_tokens=400))

    trio.run(body)


def only(owner: ModelOwner) -> ModelStatus:
    [status] = owner.status()
    return status


def pid_of(owner: ModelOwner) -> int:
    pid = only(owner).pid
    assert pid is not None
    return pid


def starts(path: Path) -> int:
    return fake.log_of(path).count("start")
