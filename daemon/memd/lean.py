"""Imports a daemon can do without: its start is a fifth shorter for it, its memory 6 MB less.

Called before structlog and httpx are imported.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class PutOffModule(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def import_leanly() -> None:
    """Import structlog without what it imports for others.

    It and httpx import rich where they find it, for output a daemon never has: as `None` it can't be found. structlog
    imports asyncio for methods (`ainfo`) that nobody calls under trio; where somebody did, it would be there.
    """
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
    if "asyncio" in sys.modules:
        return
    sys.modules["asyncio"] = PutOffModule("asyncio")
    try:
        importlib.import_module("structlog")
    finally:
        del sys.modules["asyncio"]
