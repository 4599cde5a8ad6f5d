"""Decoding of request parameters. Their types and limits are those of the records in `memd_client`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from memd.text.query.since import parse_since
from memd_client.errors import BadParamsError, PathRefusedError
from memd_client.limits import limits_of
from memd_client.messages import REQUESTS

MAX_MATCHES = 10
"""Ids listed in the error for a prefix that matches several."""

LIMITS = {name: limits_of(each.params) for name, each in REQUESTS.items()}
"""The limits of each parameter, by request."""


def _rules_of(limits: Iterable[msgspec.Meta]) -> dict[str, Any]:
    """Return what limits say in `extra`."""
    return {key: value for limit in reversed([*limits]) for key, value in (limit.extra or {}).items()}


RULES = {
    name: {field: rules for field, limits in fields.items() if (rules := _rules_of(limits))}
    for name, fields in LIMITS.items()
}
"""The rules that msgspec has no word for, by request and parameter; `memd_client.limits` explains them."""


def decode_params(name: str, params: Any) -> Any:
    """Return a request's parameters as their record. Unknown keys are ignored."""
    if not isinstance(params, dict):
        raise BadParamsError(f"{name}: params must be a map, not {_type_name(params)}")
    for field, value in params.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong(name, field, "must be a finite number")
    try:
        decoded = msgspec.convert(params, REQUESTS[name].params, strict=True)
    except msgspec.ValidationError as error:
        raise _bad_params(name, str(error)) from None
    for field, rules in RULES[name].items():
        _check(name, field, getattr(decoded, field), rules)
    return decoded


def _bad_params(name: str, reason: str) -> BadParamsError:
    """Convert a message such as "Expected `str`, got `int` - at `$.query`" to a `BadParamsError`."""
    missing = re.match(r"Object missing required field `(\w+)`", reason)
    if missing:
        return BadParamsError(f"{name}: `{missing[1]}` is missing", data={"field": missing[1]})
    place = re.search(r" - at `\$\.(\w+)(.*)`$", reason)
    mistyped = re.match(r"Expected `(.+?)`, got `(.+?)`", reason)
    if mistyped:
        field = place[1] + place[2] if place else "params"
        kinds = {"expected": mistyped[1], "got": mistyped[2]}
        message = f"{name}: `{field}` must be {mistyped[1]}, not {mistyped[2]}"
        return BadParamsError(message, data={"field": field, **kinds})
    if place is None:
        return BadParamsError(f"{name}: {reason[:200]}")
    rules = RULES[name].get(place[1], {})
    if "expected" in rules:
        return wrong(name, place[1], f"must be {rules['expected']}", rules.get("hint"))
    said = _limit_in_words(reason, LIMITS[name][place[1]], is_inner=bool(place[2]))
    return wrong(name, place[1], said, rules.get("hint"))


def _limit_in_words(reason: str, limits: Iterable[msgspec.Meta], *, is_inner: bool) -> str:
    """Return the limit that a message such as "Expected `str` of length <= 64" is about."""
    length = re.match(r"Expected `(\w+)` of length ([<>]=) (\d+)", reason)
    if length and length[2] == ">=":
        return "must not be empty" if length[1] != "array" else "must hold at least one value"
    if length and length[1] == "array":
        return f"must hold at most {length[3]} values"
    if length:
        unit = "bytes" if length[1] == "bytes" else "characters"
        return f"must have at most {length[3]} {unit}{' each' * is_inner}"
    for least, most in ((each.ge, each.le) for each in limits):
        if least is not None:
            return f"must be at least {least}" if most is None else f"must be from {least} to {most}"
    return "is not valid"


def _type_name(value: Any) -> str:
    """Return a type's name in the protocol."""
    return {"NoneType": "nil", "list": "array"}.get(type(value).__name__, type(value).__name__)


def _check(request: str, field: str, value: Any, rules: Mapping[str, Any]) -> None:
    """Raise if a value breaks a rule."""
    if value is None:
        return
    if "words" in rules and value not in rules["words"]:
        raise wrong(request, field, f"must be one of {', '.join(filter(None, rules['words']))}")
    if "filled" in rules and not value.strip():
        raise wrong(request, field, "must not be empty")
    if "time" in rules and parse_since(value, 0) is None:
        raise wrong(request, field, f"must be {rules['expected']}", rules["hint"])
    if "path" in rules and any("\0" in each for each in ([value] if isinstance(value, str) else value)):
        hint = "remove it: no file system allows it in a path"
        raise PathRefusedError(f"{request}: `{field}` has a NUL character", hint=hint, data={"field": field})
    if "chars" in rules:
        _check_inside(request, field, value, rules["chars"], rules.get("values", math.inf))


def _check_inside(request: str, field: str, value: Any, max_chars: int, max_values: float) -> None:
    """Raise if everything in a value together has too many values, or its texts too many characters."""
    left: list[Any] = [value]
    values = chars = 0
    while left:
        each = left.pop()
        if isinstance(each, str | bytes):
            chars += len(each)
        elif isinstance(each, list | dict):
            values += len(each)
            if values <= max_values:
                left.extend(each if isinstance(each, list) else (*each.keys(), *each.values()))
        if values > max_values:
            raise wrong(request, field, f"must hold at most {max_values} values in all")
        if chars > max_chars:
            raise wrong(request, field, f"must hold at most {max_chars} characters in all")


def wrong(request: str, field: str, reason: str, hint: str | None = None) -> BadParamsError:
    """Return what is wrong with a parameter."""
    return BadParamsError(f"{request}: `{field}` {reason}", hint=hint, data={"field": field})


def match_prefix(request: str, field: str, prefix: str, ids: Iterable[str]) -> str:
    """Return the id that equals a prefix, else the only id that begins with it.

    Raises:
        BadParamsError: No id begins with it, or several do; the hint lists them.
    """
    matches = sorted({each for each in ids if each.startswith(prefix)})
    if prefix in matches or len(matches) == 1:
        return prefix if prefix in matches else matches[0]
    if not matches:
        raise wrong(
            request, field, f"{prefix[:80]!r} matches nothing", "check the id, or its first characters"
        )
    more = f" and {len(matches) - MAX_MATCHES} more" if len(matches) > MAX_MATCHES else ""
    shown = ", ".join(each[:120] for each in matches[:MAX_MATCHES])
    raise wrong(
        request, field, f"{prefix[:80]!r} matches {len(matches)} ids", f"repeat it with one of {shown}{more}"
    )
