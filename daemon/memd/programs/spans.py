"""What an edit of a file replaced and wrote: short spans of text, without secrets. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import commonprefix
from typing import Final, TypeAlias

from memd.text.work.secrets import redact_file_text

Spans: TypeAlias = tuple[str, str]
"""The old and the new text of an edit; either may be empty."""

MAX_SPAN_BYTES: Final = 2_000
GAP: Final = "…"
"""A line between two changes of one file."""


def cut(text: str, most_bytes: int) -> str:
    """Return the first lines of a text that fit; of a too long first line its beginning, up to a space."""
    data = text[: most_bytes + 1].encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    head = data[:most_bytes].decode("utf-8", "ignore")
    return head[: max(head.rfind("\n"), 0)] or head[: max(head.rfind(" "), 0)]  # no half of a secret


def spans_of(path: str, edits: Iterable[Spans]) -> Spans:
    """Return the spans of one or several edits of a file."""
    changed = [_changed_lines(old, new) for old, new in edits]
    old, new = (f"\n{GAP}\n".join(filter(None, texts)) for texts in zip(*changed, strict=True))
    return _shown(path, old), _shown(path, new)


def spans_of_diff(path: str, lines: Iterable[str]) -> Spans:
    """Return the removed and the added lines of a file's part of a patch, without their signs."""
    texts: dict[str, list[str]] = {"-": [], "+": []}
    for line in lines:
        if (sign := line[:1]) in texts:
            texts[sign].append(line[1:])
        else:
            for changed in texts.values():
                changed += [GAP] if changed and changed[-1] != GAP else []
    old, new = ("\n".join(changed).removesuffix(f"\n{GAP}") for changed in texts.values())
    return _shown(path, old), _shown(path, new)


def diff_lines(diff: str) -> list[str]:
    """Return the lines of a unified diff of one file without its headings."""
    return diff[max(diff.find("@@"), 0) :].split("\n") if diff else []


def _shown(path: str, text: str) -> str:
    """Return what is shown of a span."""
    return cut(redact_file_text(path, cut(text, MAX_SPAN_BYTES))[0], MAX_SPAN_BYTES)


def _changed_lines(old: str, new: str) -> Spans:
    """Return both texts of an edit, without the lines at their ends that are equal if they are too long."""
    if max(len(text.encode("utf-8", "replace")) for text in (old, new)) <= MAX_SPAN_BYTES:
        return old, new
    olds, news = old.split("\n"), new.split("\n")
    for _ in range(2):  # from both ends
        equal = len(commonprefix([olds, news]))
        olds, news = olds[equal:][::-1], news[equal:][::-1]
    return "\n".join(olds), "\n".join(news)
