"""Tests of missing and invalid models: named errors, few tries, and recovery."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.embedding.local.model import ModelSpec
from memd.embedding.local.process import ModelSettings
from memd_client.errors import (
    LocalExtraMissingError,
    MemdError,
    ModelChildError,
    ModelInvalidError,
    ModelMissingError,
)
from tests.support import fake_model_child as fake
from tests.support.models import running_owner
from tests.unit.embedding.model_in_use import HURRIED, PATIENT, model_in_use, only, starts


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("loads-without-extra.gguf", LocalExtraMissingError),
        ("loads-no-embedding.gguf", ModelInvalidError),
    ],
)
async def test_permanent_failure_starts_one_process_until_the_file_changes(
    tmp_path: Path, name: str, error: type[MemdError]
) -> None:
    path = fake.write_model(tmp_path / name)

    async with model_in_use(path) as (owner, used):
        for _ in range(4):
            with pytest.raises(error):
                await used.embed("text", "text")
        assert starts(path) == 1
        assert only(owner).state == "failed"
        assert only(owner).problem
        os.utime(path, ns=(1, 1))
        with pytest.raises(error):
            await used.embed("text", "text")
        assert starts(path) == 2


async def test_missing_file_needs_no_process_and_is_found_later(tmp_path: Path) -> None:
    path = tmp_path / "later.gguf"

    async with model_in_use(path) as (owner, used):
        with pytest.raises(ModelMissingError, match=r"later\.gguf"):
            await used.embed("text", "query")
        assert only(owner).state == "failed"
        fake.write_model(path)
        assert (await used.embed("text", "query")).size == fake.DIMS


async def test_invalid_file_is_named_without_a_process(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("# Notes")

    async with model_in_use(path) as (_owner, used):
        with pytest.raises(ModelInvalidError, match=r"notes\.gguf is not a GGUF file"):
            await used.embed("text", "text")
        assert starts(path) == 0


async def test_replaced_file_is_refused_for_the_old_space(model: Path) -> None:
    async with running_owner(PATIENT) as owner:
        used = owner.acquire(ModelSpec(model, "fake", fingerprint="0" * 16), chunk_tokens=400)
        with pytest.raises(ModelInvalidError, match="another file"):
            await used.embed("text", "text")


async def test_crash_while_loading_is_retried_once_and_stderr_is_kept(
    tmp_path: Path,
) -> None:
    path = fake.write_model(tmp_path / "loads-and-crashes.gguf")

    async with model_in_use(path, HURRIED) as (_owner, used):
        with pytest.raises(ModelChildError, match="load the model"):
            await used.embed("text", "text")
        assert starts(path) == 2
        # After two more deaths a query fails at once instead of waiting for the back-off.
        with pytest.raises(ModelChildError):
            await used.embed("text", "text")
        with pytest.raises(ModelChildError, match="restart in"):
            await used.embed("query", "query")
        assert starts(path) == 4


async def test_hang_while_loading_ends_at_the_load_timeout(tmp_path: Path) -> None:
    path = fake.write_model(tmp_path / "loads-never.gguf")
    settings = ModelSettings(command=fake.COMMAND, load_timeout_s=0.5)

    async with model_in_use(path, settings) as (_owner, used):
        with pytest.raises(ModelChildError, match=r"did not load the model in 0\.5 s"):
            await used.embed("text", "text")
