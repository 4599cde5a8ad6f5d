"""Models that can't be had or can't be loaded: named, tried no more than helps, found when they are mended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.embedding.local.owner import LocalModel
from memd.embedding.local.process import RunnerSettings
from memd_client.errors import (
    LocalExtraMissingError,
    MemdError,
    ModelChildError,
    ModelInvalidError,
    ModelMissingError,
)
from tests.support import fake_model_child as fake
from tests.support.models import running_owner
from tests.unit.embedding.owning import HURRIED, PATIENT, held_model, only, starts


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

    async with held_model(path) as (owner, hold):
        for _ in range(4):
            with pytest.raises(error):
                await hold.embed("text", "text")
        assert starts(path) == 1
        assert only(owner).state == "failed"
        assert only(owner).problem
        os.utime(path, ns=(1, 1))
        with pytest.raises(error):
            await hold.embed("text", "text")
        assert starts(path) == 2


async def test_missing_file_is_named_without_a_process_and_found_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "later.gguf"

    async with held_model(path) as (owner, hold):
        with pytest.raises(ModelMissingError, match=r"later\.gguf"):
            await hold.embed("text", "query")
        assert only(owner).state == "failed"
        fake.write_model(path)
        assert (await hold.embed("text", "query")).size == fake.DIMS


async def test_file_that_is_no_gguf_is_named_without_a_process(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("# Notes")

    async with held_model(path) as (_owner, hold):
        with pytest.raises(ModelInvalidError, match=r"notes\.gguf is not a GGUF file"):
            await hold.embed("text", "text")
        assert starts(path) == 0


async def test_file_that_was_replaced_does_not_fill_the_space_of_the_old_one(model: Path) -> None:
    async with running_owner(PATIENT) as owner:
        hold = owner.hold(LocalModel(model, "fake", fingerprint="0" * 16), chunk_tokens=400)
        with pytest.raises(ModelInvalidError, match="another file"):
            await hold.embed("text", "text")


async def test_model_that_crashes_while_loading_is_tried_twice_and_its_last_words_are_kept(
    tmp_path: Path,
) -> None:
    path = fake.write_model(tmp_path / "loads-and-crashes.gguf")

    async with held_model(path, HURRIED) as (_owner, hold):
        with pytest.raises(ModelChildError, match="load the model"):
            await hold.embed("text", "text")
        assert starts(path) == 2
        # Two more deaths, and a question is answered at once rather than after the back-off.
        with pytest.raises(ModelChildError):
            await hold.embed("text", "text")
        with pytest.raises(ModelChildError, match="started again in"):
            await hold.embed("question", "query")
        assert starts(path) == 4


async def test_hang_while_loading_ends_at_the_load_deadline(tmp_path: Path) -> None:
    path = fake.write_model(tmp_path / "loads-never.gguf")
    settings = RunnerSettings(command=fake.COMMAND, load_timeout_s=0.5)

    async with held_model(path, settings) as (_owner, hold):
        with pytest.raises(ModelChildError, match=r"did not load the model in 0\.5 s"):
            await hold.embed("text", "text")
