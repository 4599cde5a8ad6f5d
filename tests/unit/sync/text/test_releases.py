"""Released lines get their new origin with the next pass, although the note is unchanged."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from memd.index.origins import find_outside
from memd.sources.source import FileText, SourceFile
from memd.text.trust.origins import AGENT, OUTSIDE, UNKNOWN, LineOrigins
from memd.trust.allowed import TRUST_FILE, Allowed
from tests.support.synced_text import AGENT as MAIN
from tests.support.synced_text import SyncedText, synced_text_in

NOTE = "memory/relay.md"
PAGE = "a page of example.org"


def mark_outside(scene: SyncedText) -> None:
    """Let all lines with the word `page` be of another person."""
    load = scene.sources.load

    def load_marked(found: SourceFile) -> FileText:
        file = load(found)
        lines = file.text.split("\n")
        outside = [number for number, line in enumerate(lines, 1) if "page" in line]
        return replace(file, origins=UNKNOWN.lowered(outside, OUTSIDE, PAGE, len(lines)))

    scene.sources.load = load_marked  # type: ignore[method-assign]


async def outside(scene: SyncedText) -> dict[str, LineOrigins]:
    """Return the origins of the files with lines that are outside."""
    return {path: origins for path, _, origins in await scene.index.read(find_outside)}


async def test_released_line_is_not_outside_after_the_next_pass(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        mark_outside(scene)
        scene.note("relay.md", "mine\na line of the page\na second line of the page\n")
        await scene.text.sync()
        before = (await outside(scene))[NOTE]

        Allowed(tmp_path / TRUST_FILE, MAIN).change(NOTE, ["a line of the page"])
        scene.rows.expire(NOTE)
        report = await scene.text.sync()

        after = (await outside(scene))[NOTE]
        assert [before.lowest(line, line) for line in (1, 2, 3)] == [AGENT, OUTSIDE, OUTSIDE]
        assert [after.lowest(line, line) for line in (1, 2, 3)] == [AGENT, AGENT, OUTSIDE]
        assert report.files_changed == 1


async def test_revoked_line_is_outside_again(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        mark_outside(scene)
        allowed = Allowed(tmp_path / TRUST_FILE, MAIN)
        allowed.change(NOTE, ["a line of the page"])
        scene.note("relay.md", "a line of the page\n")
        await scene.text.sync()
        assert await outside(scene) == {}

        allowed.change(NOTE, [])
        scene.rows.expire(NOTE)
        await scene.text.sync()

        assert list(await outside(scene)) == [NOTE]


async def test_line_that_is_added_to_a_released_note_is_outside(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        mark_outside(scene)
        Allowed(tmp_path / TRUST_FILE, MAIN).change(NOTE, ["a line of the page"])
        scene.note("relay.md", "a line of the page\nan order of the page\n")

        await scene.text.sync()

        origins = (await outside(scene))[NOTE]
        assert [origins.lowest(line, line) for line in (1, 2)] == [AGENT, OUTSIDE]
