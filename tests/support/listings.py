"""Records which folders a test lists."""

from __future__ import annotations

import os
from typing import Any

import pytest


def record_listings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that receives each path or descriptor given to `os.scandir` from now on."""
    listed: list[Any] = []
    scandir = os.scandir

    def recorded(path: Any) -> Any:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", recorded)
    return listed
