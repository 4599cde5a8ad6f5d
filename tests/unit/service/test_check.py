"""The report on agents, indexes and leftovers without a daemon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.index.database import WRITER, connect
from memd.index.schema import APPLICATION_ID, VERSION, migrate
from memd.service.check import check_index, describe_agents, find_leftovers, report_indexes
from memd.settings.agents import OpenClawHome, resolve
from memd.settings.schema import DaemonSettings
from tests.support.indexes import openclaw_index, unit


def home_with(tmp_path: Path, **memory_search: object) -> OpenClawHome:
    """Return a home with one agent that has these settings."""
    document = {"agents": {"defaults": {"memorySearch": memory_search}}}
    return resolve(document, config_path=tmp_path / "openclaw.json", state_dir=tmp_path, home=tmp_path)


def make_index(path: Path, *, version: int = VERSION, owner: int = APPLICATION_ID) -> Path:
    """Create an index file of a release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = connect(path, WRITER)
    migrate(db)
    db.pragma("user_version", version)
    db.pragma("application_id", owner)
    db.close(True)
    return path


def test_state_of_an_index_is_sound_missing_newer_or_foreign(tmp_path: Path) -> None:
    sound = make_index(tmp_path / "a.sqlite")
    newer = make_index(tmp_path / "b.sqlite", version=VERSION + 1)
    foreign = make_index(tmp_path / "c.sqlite", owner=0)
    (tmp_path / "empty.sqlite").touch()

    openclaw_index(tmp_path / "d.sqlite", ["walrus"], unit([[1.0, 0.0]])).close()
    paths = (sound, newer, foreign, tmp_path / "d.sqlite", tmp_path / "empty.sqlite")

    states = [check_index(path)["state"] for path in paths]

    assert states == ["sound", "index_newer", "refused", "foreign", "refused"]
    assert check_index(tmp_path / "empty.sqlite", is_own_path=True)["state"] == "missing"
    assert check_index(tmp_path / "none.sqlite")["state"] == "missing"
    assert not (tmp_path / "none.sqlite").exists()


def test_damaged_index_is_reported_and_unchanged(tmp_path: Path) -> None:
    path = make_index(tmp_path / "a.sqlite")
    octets = bytearray(path.read_bytes())
    octets[4096:16_384] = b"\x55" * 12_288
    path.write_bytes(octets)
    (tmp_path / "b.sqlite").write_bytes(b"no database at all" * 100)

    assert check_index(path)["state"] == "index_corrupt"
    assert check_index(tmp_path / "b.sqlite", is_own_path=True)["state"] == "index_corrupt"
    assert check_index(tmp_path / "b.sqlite")["state"] == "refused"
    assert path.read_bytes() == octets


def test_index_of_every_agent_is_checked(tmp_path: Path) -> None:
    make_index(tmp_path / "memory/main.memd.sqlite")

    told = report_indexes({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)

    assert [(row["agent"], row["state"]) for row in told["indexes"]] == [("main", "sound")]


def test_leftovers_are_recognized_by_name(tmp_path: Path) -> None:
    memory, models = tmp_path / "memory", tmp_path / "models"
    memory.mkdir()
    (models / "minilm-source").mkdir(parents=True)
    for path in (
        memory / "main.sqlite.corrupt-20260101T000000Z",
        memory / "main.sqlite.adopting",
        memory / "main.sqlite",
        models / "a.gguf",
        models / "a.gguf.ref",
        models / "b.gguf.part",
        models / "b.gguf.part.tag",
        models / ".c.gguf.77.tmp",
        models / "minilm-source/vocab.txt",
    ):
        path.write_bytes(b"1234")

    found = find_leftovers(home_with(tmp_path), models)

    assert {(Path(row["path"]).name, row["kind"], row["bytes"]) for row in found} == {
        ("main.sqlite.corrupt-20260101T000000Z", "damaged index", 4),
        ("main.sqlite.adopting", "unfinished adoption", 4),
        ("b.gguf.part", "unfinished download", 4),
        (".c.gguf.77.tmp", "unfinished model", 4),
        ("minilm-source", "unfinished model", 4),
    }
    assert find_leftovers(home_with(tmp_path), tmp_path / "none") == [
        row for row in found if "memory" in row["path"]
    ]


@pytest.mark.parametrize(
    ("settings", "environ", "code"),
    [
        ({"provider": "none"}, {}, None),
        ({"provider": "auto"}, {}, "provider_unavailable"),
        ({"provider": "auto"}, {"VOYAGE_API_KEY": "pa-1"}, None),
        ({"provider": "openai"}, {}, "provider_unavailable"),
        ({"provider": "openai"}, {"OPENAI_API_KEY": "sk-1"}, None),
        ({"provider": "local"}, {}, "model_missing"),
        ({"provider": "oracle"}, {}, "config_invalid"),
    ],
)
def test_provider_is_checked_without_a_request(
    tmp_path: Path, settings: dict[str, object], environ: dict[str, str], code: str | None
) -> None:
    (row,) = describe_agents(home_with(tmp_path, **settings), DaemonSettings(), tmp_path / "models", environ)

    assert (row["provider_problem"] or {}).get("code") == code


def test_files_are_counted_and_their_problems_listed(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("x")
    (workspace / "memory/late.md").write_text("x")
    (workspace / "memory/link.md").symlink_to(workspace / "MEMORY.md")
    os.utime(workspace / "memory/late.md", (4e9, 4e9))

    (row,) = describe_agents(home_with(tmp_path, provider="none"), DaemonSettings(), tmp_path / "models", {})

    assert (row["files"], row["workspace_missing"], row["from_the_future"]) == (2, False, ["memory/late.md"])
    assert [each["path"] for each in row["skipped"]] == ["memory/link.md"]
    assert row["folders"] == 3


def test_folders_that_notes_were_copied_from_are_listed_with_their_source(tmp_path: Path) -> None:
    copy = tmp_path / "workspace/memory/imported/basic-memory/ideas/tea.md"
    copy.parent.mkdir(parents=True)
    copy.write_text(
        '<!-- memd-import {"kind": "basic-memory", "source": "/x/ideas/tea.md", "sha256": ""} -->\nTea\n'
    )

    (row,) = describe_agents(home_with(tmp_path, provider="none"), DaemonSettings(), tmp_path / "models", {})

    (found,) = row["imported"]
    assert (found["folder"], found["exists"], found["files"]) == ("/x/ideas", False, 1)
    assert (found["source"], found["path"], found["is_source"]) == ("basic-memory-ideas", "/x/ideas", False)
