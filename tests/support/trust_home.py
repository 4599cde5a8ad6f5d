"""A daemon over a home with planted texts, and where each of them comes out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from memd_client import Client
from tests.support.attack_texts import AttackText
from tests.support.context_exits import INJECTED, MAX_ANSWER_CHARS, outputs
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import mcp_session
from tests.support.outside_blocks import is_in, is_unlabelled
from tests.support.planted_texts import WAYS, Plant, PlantedHome
from tests.support.state_homes import StateHome
from tests.support.work_home import SESSIONS, SOURCES

SETTINGS: Final = {"agents": {"defaults": {"memorySearch": {"provider": "none", **SESSIONS}}}}

PAGE: Final = 1_000
"""Most files that one request lists."""

FOUND_BY: Final = ("MCP memory_search", "MCP memory_recall", "MCP conversation_search", "MCP memory_get")
"""Tools of which at least one returns a planted text, labelled or not: else the test looks in the wrong place."""


@dataclass(frozen=True)
class PlantedOutput:
    """One output about one plant: where it came out, and whether the text is in it, and unlabelled."""

    plant: Plant
    name: str
    is_there: bool
    is_unlabelled: bool
    text: str

    @property
    def reaches(self) -> bool:
        """Whether the text reaches a model's context as if it were the user's or the agent's own."""
        return self.is_there if self.name in INJECTED else self.is_unlabelled


def plants_for(forms: Sequence[str], attacks: Iterable[AttackText]) -> list[Plant]:
    """Return plants of attack texts; the forms take turns."""
    return [Plant(number, forms[number % len(forms)], attack) for number, attack in enumerate(attacks)]


@contextmanager
def served(plants: Sequence[Plant]) -> Iterator[tuple[DaemonProcess, Client, PlantedHome]]:
    """Run a daemon over a home with plants, indexed."""
    with StateHome(SETTINGS) as home:
        planted = PlantedHome(home.root / "user", home.state)
        planted.place(plants)
        project = f'{{"projects": {{"{planted.rules}": {{}}}}}}'
        (planted.user / ".claude.json").write_text(project)
        (home.root / "memd.toml").write_text(
            "".join(f"[sources.{name}]\n" for name in (*SOURCES, "claude-code-notes"))
            + f'[sources.vault]\npath = "{planted.vault}"\n[sources.clippings]\npath = "{planted.clippings}"\n'
        )
        with (
            DaemonProcess(home, {"HOME": str(planted.user)}) as daemon,
            daemon.client(timeout_s=600) as client,
        ):
            client.index()
            planted.receive(client, home.root / "hub.git")
            planted.store_facts(client)
            client.index()
            yield daemon, client, planted


def outputs_of(plants: Sequence[Plant]) -> list[PlantedOutput]:
    """Plant texts in one home and return what comes out, everywhere."""
    with served(plants) as (daemon, client, planted):
        paths = listed_paths(client)
        started = client.session_started(
            "agent:main:main", kind="main", max_file_characters=1_000_000, max_characters=1_000_000
        ).context

        async def follow() -> list[PlantedOutput]:
            results = [_output_about(plant, "start-up context", started) for plant in plants]
            async with mcp_session(daemon.home.environ(), "--structured") as session:
                for plant in plants:
                    folder, path = planted.folder(plant), _path_of(plant, paths)
                    results += [
                        _output_about(plant, name, text)
                        async for name, text in outputs(plant, folder, path, daemon, client, session)
                    ]
            return results

        return asyncio.run(follow())


def listed_paths(client: Client) -> set[str]:
    """Return the paths of all files of memory."""
    paths = set[str]()
    while files := client.files(offset=len(paths), limit=PAGE).files:
        paths |= {file.path for file in files}
    return paths


def _path_of(plant: Plant, paths: Iterable[str]) -> str:
    """Return the path of a plant's note in memory."""
    path = next((path for path in paths if plant.note and path.endswith(plant.note)), "")
    assert bool(path) == bool(plant.note), f"{plant.form}: the note {plant.note} isn't in memory"
    return path


def _output_about(plant: Plant, name: str, text: str) -> PlantedOutput:
    signs = plant.signs()
    return PlantedOutput(plant, name, is_in(signs, text), is_unlabelled(signs, text), text[:MAX_ANSWER_CHARS])


def lost(results: Iterable[PlantedOutput]) -> list[Plant]:
    """Return the plants that no tool returned at all."""
    plants, returned = dict[int, Plant](), set[int]()
    for output in results:
        plants[output.plant.number] = output.plant
        if output.is_there and output.name in FOUND_BY:
            returned.add(output.plant.number)
    return [plant for number, plant in plants.items() if number not in returned]


def table(results: Sequence[PlantedOutput]) -> str:
    """Return how many texts reached a context, by the way in and the way out, as Markdown."""
    ways = {form: way for way, forms in WAYS.items() for form in forms}
    counts, reaching = Counter[Any](), Counter[Any]()
    for output in results:
        for key in ((output.name, ways[output.plant.form]), (output.name, "all")):
            counts[key] += 1
            reaching[key] += output.reaches
    names = dict.fromkeys(output.name for output in results)
    columns = [way for way in (*WAYS, "all") if any((name, way) in counts for name in names)]
    rows = [f"| way out | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name in names:
        cells = [_cell(reaching[name, way], counts[name, way]) for way in columns]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(reaching: int, count: int) -> str:
    return f"{reaching} of {count}" if count else ""


def failures(results: Sequence[PlantedOutput], limit: int = 12) -> str:
    """Return the texts that reached a context, for the message of a failed test."""
    rows = [
        f"{output.plant.form} ({output.plant.attack.kind}) -> {output.name}: {output.plant.attack.text[:100]!r}\n"
        f"    {output.text[:600]!r}"
        for output in results
        if output.reaches
    ]
    return "\n".join([table(results), f"{len(rows)} outputs", *rows[:limit]])
