"""The RAM budget follows the settings, else the machine's RAM."""

from __future__ import annotations

import pytest

from memd.settings.ram_budget import BASE_BYTES, MB, budget_of
from memd.settings.schema import DaemonSettings

GB = 1024 * MB


@pytest.mark.parametrize(
    ("machine", "vectors", "pages"),
    [(GB // 2, 64, 32), (4 * GB, 256, 64), (8 * GB, 512, 128), (16 * GB, 1024, 256), (512 * GB, 1024, 256)],
)
def test_default_budget_depends_on_the_machine(machine: int, vectors: int, pages: int) -> None:
    budget = budget_of(DaemonSettings(), machine)

    assert (budget.vectors, budget.pages) == (vectors * MB, pages * MB)
    assert budget.models == machine // 2


def test_settings_override_the_default() -> None:
    budget = budget_of(DaemonSettings(vector_ram_mb=100, model_ram_mb=1000), 8 * GB)

    assert (budget.vectors, budget.models) == (100 * MB, 1000 * MB)
    assert budget.total == BASE_BYTES + (100 + 1000 + 128) * MB


def test_budget_of_vectors_may_be_0() -> None:
    assert budget_of(DaemonSettings(vector_ram_mb=0), 8 * GB).vectors == 0
