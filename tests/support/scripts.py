"""Import of scripts as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def load_script(name: str) -> Any:
    """Return a script in `scripts/` as a module."""
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as an import does; dataclasses look up their module
    if spec.origin is not None and (folder := str(Path(spec.origin).parent)) not in sys.path:
        sys.path.append(folder)  # scripts import each other
    spec.loader.exec_module(module)
    return module
