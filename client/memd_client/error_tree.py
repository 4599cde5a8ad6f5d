"""The base class of all errors, and its form on the wire."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # importing typing takes a client several milliseconds; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, ClassVar


RETRYABLE_CODES = frozenset(
    {
        "agent_reloading",
        "connection_lost",
        "daemon_busy",
        "deadline_exceeded",
        "host_unreachable",
        "idle_timeout",
        "index_closed",
        "index_lost",
        "model_child",
        "provider_rate_limited",
        "provider_unreachable",
        "remote_unreachable",
        "shutting_down",
        "too_many_connections",
        "too_many_requests",
    }
)
"""Codes after which the same request may succeed in a moment, without any other change."""


class MemdError(Exception):
    """The base class of all errors; also the class of an unknown code from a newer daemon.

    The hint is a note of the exception too, so that tracebacks show it.

    Args:
        message: What failed, on which object, and the cause.
        hint: What to do about it, if more exact than the class's own; never memory text, keys or tokens.
        data: Small structured details; the same applies.
    """

    code: ClassVar[str] = "internal"
    hint: str = "report this defect of memd with the daemon's log"

    _classes: ClassVar[dict[str, type[MemdError]]] = {}

    def __init__(
        self, message: str = "", *, hint: str | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.wire_code = self.code
        if hint is not None:
            self.hint = hint
        self.data: dict[str, Any] = dict(data or {})
        self.add_note(f"hint: {self.hint}")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        known = MemdError._classes.get(cls.code)
        if known is not None:
            raise TypeError(f"error code {cls.code!r} already belongs to {known.__name__}")
        MemdError._classes[cls.code] = cls

    def __str__(self) -> str:
        return self.message

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed if it is sent again in a moment."""
        return self.wire_code in RETRYABLE_CODES

    def to_wire(self) -> dict[str, Any]:
        """Return the error as a map for the wire: ``{code, message, data}``, with the hint in data."""
        return {"code": self.wire_code, "message": self.message, "data": {**self.data, "hint": self.hint}}

    @staticmethod
    def from_wire(value: object) -> MemdError:
        """Return the error of a response, as the class of its code.

        Args:
            value: The error field of the response.

        Returns:
            An instance of the class with that code; a plain `MemdError` for a code that this release doesn't know.
        """
        shape = value if isinstance(value, Mapping) else {}
        code = str(shape.get("code", "internal"))
        data = shape.get("data")
        facts = dict(data) if isinstance(data, Mapping) else {}
        hint = facts.pop("hint", None)
        kind = MemdError._classes.get(code, MemdError)
        error = kind(str(shape.get("message", "")), hint=hint if isinstance(hint, str) else None, data=facts)
        error.wire_code = code
        return error


MemdError._classes["internal"] = MemdError
