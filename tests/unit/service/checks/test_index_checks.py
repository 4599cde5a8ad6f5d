"""The integrity check of indexes without a daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.index.database import WRITER, connect
from memd.index.schema import APPLICATION_ID, VERSION, migrate
from memd.service.checks.finding import OK, WRONG
from memd.service.checks.indexes import check_indexes, state_of_index
from tests.support.indexes import openclaw_index, unit


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

    states = [state_of_index(path)[0] for path in paths]

    assert states == ["sound", "index_newer", "refused", "foreign", "refused"]
    assert state_of_index(tmp_path / "empty.sqlite", is_own_path=True)[0] == "missing"
    assert state_of_index(tmp_path / "none.sqlite")[0] == "missing"
    assert not (tmp_path / "none.sqlite").exists()


def test_damaged_index_is_reported_and_unchanged(tmp_path: Path) -> None:
    path = make_index(tmp_path / "a.sqlite")
    octets = bytearray(path.read_bytes())
    octets[4096:16_384] = b"\x55" * 12_288
    path.write_bytes(octets)
    (tmp_path / "b.sqlite").write_bytes(b"no database at all" * 100)

    assert state_of_index(path)[0] == "index_corrupt"
    assert state_of_index(tmp_path / "b.sqlite", is_own_path=True)[0] == "index_corrupt"
    assert state_of_index(tmp_path / "b.sqlite")[0] == "refused"
    assert path.read_bytes() == octets


@pytest.mark.parametrize("has_later_schema", [False, True])
def test_index_of_every_agent_is_checked(tmp_path: Path, has_later_schema: bool) -> None:
    make_index(tmp_path / "memory/main.memd.sqlite", version=VERSION + has_later_schema)

    (finding,) = check_indexes({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)

    assert (finding.area, finding.name) == ("agent main", "index")
    assert finding.state == (WRONG if has_later_schema else OK)
    assert finding.fix.startswith("upgrade memd, or run `mv " if has_later_schema else "")
    assert bool(finding.fix) == has_later_schema
