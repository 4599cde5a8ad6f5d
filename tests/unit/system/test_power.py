"""Detection of battery or mains power."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from memd.system.power import POLL_INTERVAL_S, PowerMonitor, load_on_battery

Supplies = dict[str, dict[str, str]]

CHARGING = {"type": "Battery", "status": "Charging"}
DISCHARGING = {"type": "Battery", "status": "Discharging"}


def machine_with(folder: Path, supplies: Supplies) -> Path:
    for name, facts in supplies.items():
        (folder / name).mkdir(parents=True)
        for fact, value in facts.items():
            (folder / name / fact).write_text(value + "\n")
    return folder


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        pytest.param({}, None, id="a server"),
        pytest.param({"AC": {"type": "Mains", "online": "1"}}, None, id="a desktop"),
        pytest.param({"AC": {"type": "Mains", "online": "0"}, "BAT0": DISCHARGING}, True, id="unplugged"),
        pytest.param({"AC": {"type": "Mains", "online": "1"}, "BAT0": CHARGING}, False, id="plugged in"),
        pytest.param(
            {"AC": {"type": "Mains", "online": "1"}, "BAT0": DISCHARGING}, False, id="fed too little"
        ),
        pytest.param({"ucsi": {"type": "USB", "online": "1"}, "BAT0": CHARGING}, False, id="fed by USB"),
        pytest.param({"BAT0": {"type": "Battery", "status": "Full"}}, False, id="full"),
        pytest.param({"BAT0": CHARGING, "BAT1": DISCHARGING}, True, id="two batteries"),
        pytest.param({"mouse": {**DISCHARGING, "scope": "Device"}}, None, id="a mouse"),
    ],
)
def test_linux_power_supplies_are_interpreted(
    tmp_path: Path, supplies: Supplies, expected: bool | None
) -> None:
    assert load_on_battery(machine_with(tmp_path, supplies), "linux") is expected


def test_system_without_power_supply_folder_has_no_battery(tmp_path: Path) -> None:
    assert load_on_battery(tmp_path / "none", "linux") is None


def test_power_source_changes_are_noticed() -> None:
    found = [False, True, False]

    async def body() -> None:
        power = PowerMonitor(lambda: found[0])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(power.run)
            seen = []
            for _ in range(3):
                await trio.sleep(POLL_INTERVAL_S / 2)
                seen.append(power.on_battery)
                found.pop(0)
                await trio.sleep(POLL_INTERVAL_S / 2) if found else None
            nursery.cancel_scope.cancel()
        assert seen == [False, True, False]

    trio.run(body, clock=MockClock(autojump_threshold=0.05))


def test_machine_without_a_battery_is_checked_once() -> None:
    asked: list[None] = []

    def load() -> None:
        asked.append(None)

    trio.run(PowerMonitor(load).run)
    assert len(asked) == 1
