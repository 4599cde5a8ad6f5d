"""The root of the tree of errors, and its way over the wire."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, ClassVar


class MemdError(Exception):
    """The root of all errors; also what an unknown code from a newer daemon becomes.

    The hint is a note of the exception too, so that a traceback shows it.

    Args:
        message: One sentence that names the thing that went wrong.
        hint: What to do about it, if that is more exact than the class's own (never memory text, keys or tokens).
        data: Small structured facts (the same).
    """

    code: ClassVar[str] = "internal"
    hint: str = "This is a defect of memd: the daemon's log says more. Please report it."

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
            raise TypeError(f"error code {cls.code!r} stands for {known.__name__} already")
        MemdError._classes[cls.code] = cls

    def __str__(self) -> str:
        return self.message

    def to_wire(self) -> dict[str, Any]:
        """Return the error's one shape on the wire: ``{code, message, data}``, the hint inside data."""
        return {"code": self.wire_code, "message": self.message, "data": {**self.data, "hint": self.hint}}

    @staticmethod
    def from_wire(value: object) -> MemdError:
        """Return the error a reply carried, as the class of its code.

        Args:
            value: What stood in the reply's error slot.

        Returns:
            An instance of the class with that code; a plain `MemdError` for a code this version lacks.
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
