"""Models on disk: each under its reference with its users, removed only where nobody needs them and only there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from memd.embedding.local import library as library_module
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.library import ModelLibrary
from memd.embedding.local.model_files import lock_models
from memd.embedding.local.owner import LocalModel, ModelOwner
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, parse_reference
from memd.settings.schema import Local, MemorySearch
from memd_client.errors import (
    BadParamsError,
    ConfigInvalidError,
    DownloadFailedError,
    MemdError,
    ModelMissingError,
    PathRefusedError,
)
from memd_client.messages import ModelReply
from tests.support import fake_model_child as fake
from tests.support.download_server import DownloadServer, serve_download
from tests.support.models import running_owner
from tests.unit.embedding.owning import PATIENT

REF = "hf:owner/my_repo/model_Q8_0.gguf"


def ignore(*step: object) -> None:
    """Hear nothing."""


class Shelf:
    """A models directory, agents' settings, and what the library told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.agents: dict[str, MemorySearch] = {}
        self.removed: list[str] = []
        directory.mkdir()

    def put(self, reference: str, note: str | None = None) -> Path:
        path = fake.write_model(parse_reference(reference).file(self.directory))
        if note is not None:
            path.with_name(path.name + ".ref").write_text(note)
        return path

    def names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[ModelLibrary, ModelOwner]]:
        """Run a library over the directory inside the block."""

        async def removed(reference: str) -> None:
            self.removed.append(reference)

        async with running_owner(PATIENT) as owner, trio.open_nursery() as nursery:
            downloads = Downloads()
            await nursery.start(downloads.run)
            yield ModelLibrary(self.directory, owner, downloads, lambda: self.agents, removed), owner
            nursery.cancel_scope.cancel()

    async def list_all(self) -> ModelReply:
        async with self.open() as (library, _):
            return await library.list_all()

    async def remove(self, reference: str, *, force: bool = False) -> ModelReply:
        """Remove a model; raise what the library raises."""
        error: MemdError | None = None
        async with self.open() as (library, _):
            try:
                return await library.remove(reference, force=force, progress=ignore)
            except MemdError as failure:
                error = failure
        assert error is not None
        raise error


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "models")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DownloadServer]:
    with serve_download(fake.write_model(tmp_path / "served.gguf").read_bytes()) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def local(path: str | None = None, **more: str) -> MemorySearch:
    return MemorySearch(provider="local", local=Local(model_path=path, **more))


async def test_a_model_is_listed_under_what_it_was_pulled_by(shelf: Shelf, server: DownloadServer) -> None:
    async with shelf.open() as (library, _owner):
        await library.pull(REF, ignore)
    [model] = (await shelf.list_all()).models
    assert (model.ref, model.path) == (REF, str(shelf.directory / "hf_owner_my_repo_model_Q8_0.gguf"))
    assert model.size_bytes == (await trio.Path(model.path).stat()).st_size
    assert (model.used_by, model.loaded) == ([], False)


async def test_models_without_a_note_go_by_what_settings_call_them_else_by_their_names(shelf: Shelf) -> None:
    shelf.put("minilm")
    shelf.put(DEFAULT_LOCAL_MODEL)
    shelf.put(REF, note="hf:some/other/file.gguf")
    shelf.put("hf:a/b/c.gguf", note="\0\ud800".encode("utf-8", "surrogatepass").decode("latin-1"))
    shelf.agents = {"main": local()}
    reply = await shelf.list_all()
    assert sorted(model.ref for model in reply.models) == sorted(
        ["minilm", DEFAULT_LOCAL_MODEL, "hf_owner_my_repo_model_Q8_0.gguf", "hf_a_b_c.gguf"]
    )
    assert (reply.path, reply.size_bytes) == (
        str(shelf.directory),
        sum(model.size_bytes for model in reply.models),
    )


async def test_every_model_names_its_agents(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("minilm")
    shelf.put(DEFAULT_LOCAL_MODEL)
    mine = fake.write_model(tmp_path / "mine.gguf")
    shelf.agents = {
        "auto": MemorySearch(),
        "named": local("minilm"),
        "default": local(),
        "fallback": MemorySearch(provider="openai", fallback="local"),
        "path": local(str(mine)),
        "cloud": MemorySearch(provider="openai"),
        "none": MemorySearch(provider="none"),
        "broken": local("hf:nonsense"),
    }
    users = {model.ref: model.used_by for model in (await shelf.list_all()).models}
    assert users == {
        "minilm": ["auto", "named"],
        DEFAULT_LOCAL_MODEL: ["default", "fallback"],
        str(mine): ["path"],
    }


async def test_agents_own_directories_are_looked_at_too(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path / "other")
    path = other.put(REF, note=REF)
    shelf.agents = {"main": local(REF, model_cache_dir=str(other.directory))}
    [model] = (await shelf.list_all()).models
    assert (model.ref, model.path, model.used_by) == (REF, str(path), ["main"])
    await shelf.remove(REF, force=True)
    assert not path.exists()


async def test_a_loaded_model_says_so(shelf: Shelf) -> None:
    path = shelf.put("minilm")

    async with shelf.open() as (library, owner):
        hold = owner.hold(LocalModel(path, "minilm"), chunk_tokens=400)
        assert [model.loaded for model in (await library.list_all()).models] == [False]
        await hold.embed("text", "text")
        assert [model.loaded for model in (await library.list_all()).models] == [True]


async def test_no_directory_is_no_model(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "models")
    shelf.directory.rmdir()
    assert (await shelf.list_all()).models == []


async def test_a_removed_model_leaves_nothing(shelf: Shelf) -> None:
    path = shelf.put(REF, note=REF)
    size = path.stat().st_size + len(REF)
    kept = shelf.put("hf:a/b/c.gguf")
    reply = await shelf.remove(REF)
    assert (reply.ref, reply.path, reply.size_bytes) == (REF, str(path), size)
    assert shelf.names() == [".pull.lock", kept.name]
    assert shelf.removed == [REF]


async def test_what_came_of_a_broken_download_is_removed(shelf: Shelf) -> None:
    path = parse_reference(REF).file(shelf.directory)
    path.with_name(path.name + ".part").write_bytes(b"half")
    path.with_name(path.name + ".part.tag").write_text("v1")
    assert (await shelf.remove(REF)).size_bytes == 6
    assert shelf.names() == [".pull.lock"]


async def test_minilm_goes_with_what_it_is_made_of(shelf: Shelf) -> None:
    shelf.put("minilm")
    (shelf.directory / "minilm-source").mkdir()
    (shelf.directory / "minilm-source" / "vocab.txt").touch()
    await shelf.remove("minilm")
    assert shelf.names() == [".pull.lock"]


async def test_a_model_in_use_stays_unless_it_is_forced(shelf: Shelf) -> None:
    path = shelf.put("minilm")
    shelf.agents = {"main": MemorySearch(), "other": local("minilm")}
    with pytest.raises(BadParamsError, match="minilm is the model of main, other") as caught:
        await shelf.remove("minilm")
    assert "--force" in caught.value.hint
    assert path.exists()
    assert shelf.removed == []
    await shelf.remove("minilm", force=True)
    assert not path.exists()


@pytest.mark.parametrize("spelled", ["{name}", "{directory}/{name}", "{directory}/../models/{name}"])
async def test_a_model_may_be_named_by_its_file(shelf: Shelf, spelled: str) -> None:
    path = shelf.put(REF)
    await shelf.remove(spelled.format(name=path.name, directory=shelf.directory))
    assert not path.exists()


@pytest.mark.parametrize(
    "spelled",
    [
        "{outside}",
        "{directory}/../mine.gguf",
        "{directory}/sub/x.gguf",
        "../mine.gguf",
        "{directory}/.pull.lock",
    ],
)
async def test_nothing_is_removed_elsewhere(shelf: Shelf, tmp_path: Path, spelled: str) -> None:
    mine = fake.write_model(tmp_path / "mine.gguf")
    shelf.put(REF)
    before = shelf.names()
    with pytest.raises(PathRefusedError):
        await shelf.remove(spelled.format(outside=mine, directory=shelf.directory), force=True)
    assert mine.exists()
    assert shelf.names() == before


async def test_a_link_among_the_models_is_removed_and_not_what_it_leads_to(
    shelf: Shelf, tmp_path: Path
) -> None:
    mine = fake.write_model(tmp_path / "mine.gguf")
    (shelf.directory / "link.gguf").symlink_to(mine)
    await shelf.remove("link.gguf")
    assert mine.exists()
    assert "link.gguf" not in shelf.names()


@pytest.mark.parametrize(
    ("reference", "error"),
    [("minilm", ModelMissingError), ("none.gguf", ModelMissingError), ("hf:nonsense", ConfigInvalidError)],
)
async def test_what_is_not_there_is_named(shelf: Shelf, reference: str, error: type[MemdError]) -> None:
    with pytest.raises(error):
        await shelf.remove(reference)


async def test_a_download_under_way_is_stopped_before_its_part_is_removed(
    shelf: Shelf, server: DownloadServer
) -> None:
    async with shelf.open() as (library, _owner):
        part = shelf.directory / "hf_owner_my_repo_model_Q8_0.gguf.part"
        part.write_bytes(b"of an earlier try")
        server.gate.clear()

        async def pull() -> None:
            with pytest.raises(MemdError, match="stopped"):
                await library.pull(REF, ignore)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pull)
            with trio.fail_after(20):
                while not server.asked:  # noqa: ASYNC110 - the server is a thread
                    await trio.sleep(0.005)
            await library.remove(REF, force=False, progress=ignore)
        server.gate.set()
        assert not part.exists()


async def test_another_process_at_work_is_waited_for_and_then_named(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "LOCK_SECONDS", 0.1)
    path = shelf.put(REF)

    async with shelf.open() as (library, _owner):
        async with lock_models(shelf.directory, ignore):
            with pytest.raises(DownloadFailedError, match="another process"):
                await library.remove(REF, force=False, progress=ignore)
        assert path.exists()
        await library.remove(REF, force=False, progress=ignore)
        assert not path.exists()


async def test_settings_say_whether_a_model_is_wanted(shelf: Shelf) -> None:
    shelf.agents = {"main": local(REF), "other": MemorySearch(provider="none")}

    async with shelf.open() as (library, _owner):
        assert library.is_wanted(REF)
        assert not library.is_wanted(DEFAULT_LOCAL_MODEL)
