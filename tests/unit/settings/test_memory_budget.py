"""The memory is shared out by the settings, else by the machine's size."""

from __future__ import annotations

import pytest

from memd.settings.memory_budget import BASE_BYTES, MB, budget_of
from memd.settings.schema import DaemonSettings

GB = 1024 * MB


@pytest.mark.parametrize(
    ("machine", "vectors", "pages"),
    [(GB // 2, 64, 32), (4 * GB, 256, 64), (8 * GB, 512, 128), (16 * GB, 1024, 256), (512 * GB, 1024, 256)],
)
def test_the_machine_decides_where_the_settings_say_nothing(machine: int, vectors: int, pages: int) -> None:
    budget = budget_of(DaemonSettings(), machine)

    assert (budget.vectors, budget.pages) == (vectors * MB, pages * MB)
    assert budget.models == machine // 2


def test_the_settings_win() -> None:
    budget = budget_of(DaemonSettings(memory_budget_mb=100, model_memory_mb=1000), 8 * GB)

    assert (budget.vectors, budget.models) == (100 * MB, 1000 * MB)
    assert budget.total == BASE_BYTES + (100 + 1000 + 128) * MB


def test_no_memory_for_vectors_is_a_setting() -> None:
    assert budget_of(DaemonSettings(memory_budget_mb=0), 8 * GB).vectors == 0
