"""An owner with a fake model in use, and helpers to inspect it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd_client.reports import ModelStatus
from tests.support import fake_model_child as fake
from tests.support.models import running_owner

PATIENT = ModelSettings(command=fake.COMMAND, query_timeout_s=120, text_timeout_s=120, load_timeout_s=120)
HURRIED = ModelSettings(command=fake.COMMAND, query_timeout_s=0.6, text_timeout_s=0.6, load_timeout_s=120)


@asynccontextmanager
async def model_in_use(
    path: Path, settings: ModelSettings = PATIENT
) -> AsyncIterator[tuple[ModelOwner, LocalModel]]:
    """Run an owner with one model in use."""
    async with running_owner(settings) as owner:
        yield owner, owner.acquire(ModelSpec(path, "fake"), chunk_tokens=400)


def only(owner: ModelOwner) -> ModelStatus:
    [status] = owner.status()
    return status


def pid_of(owner: ModelOwner) -> int:
    pid = only(owner).pid
    assert pid is not None
    return pid


def starts(path: Path) -> int:
    return fake.log_of(path).count("start")
