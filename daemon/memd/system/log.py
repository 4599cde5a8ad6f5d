"""The daemon's log: events with fields, each written as one line of JSON by structlog.

structlog is imported without rich, which draws tracebacks on terminals. Here they are fields of a line, and importing
rich takes longer than the rest of structlog: 25 ms and 3.6 MB.
"""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol, TextIO, cast

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class LineStream(Protocol):
    """What the log is written to."""

    def write(self, text: str, /) -> int:
        """Write whole lines."""

    def flush(self) -> None:
        """Write what is buffered."""


def _import_structlog() -> ModuleType:
    modules = cast(dict[str, object], sys.modules)
    is_new = "rich" not in modules
    if is_new:
        modules["rich"] = None  # makes `import rich` fail, which structlog expects
    try:
        import structlog
    finally:
        if is_new:
            del modules["rich"]
    return structlog


structlog: Final = _import_structlog()

log: Final[FilteringBoundLogger] = structlog.get_logger()
"""The log of this process."""


def configure_log(level: str, stream: LineStream) -> None:
    """Write the events of a level and above to a stream from now on."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, stream)),
    )
