"""Chats in VS Code's own store: one document, or a log of the changes of that document, which is replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from memd.programs.conversation import Role
from memd.programs.documents import DocumentFormat, DocumentReader
from memd.programs.records import is_marked, part_of, text_of

CHAT_FORM: Final = DocumentFormat(
    messages="requests",
    key="requestId",
    times=("timestamp",),
    session={
        "id": "sessionId",
        "title": "customTitle",
        "started_ms": "creationDate",
        "updated_ms": "lastMessageDate",
    },
)
_SNAPSHOT, _SET, _PUSH, _DELETE = range(4)

_OTHER_PARTS: Final = frozenset(
    """clearToPreviousToolInvocation codeblockUri codeCitation command confirmation disabledClaudeHooks elicitation
    elicitationSerialized extensions hook mcpServersStarting multiDiffData notebookEditGroup planReview
    prepareToolInvocation progressMessage progressTask progressTaskSerialized pullRequest questionCarousel references
    textEditGroup thinking toolInvocation toolInvocationSerialized treeData undoStop warning workspaceEdit""".split()
)
"""Kinds of parts of a response that are no text of the answer."""


class ChatReader(DocumentReader):
    """Reads a document or a log. A message is a request with its response."""

    def _take(self, value: Any) -> None:
        change = value.get("kind", _SNAPSHOT) if isinstance(value, dict) else _SET
        if change == _SNAPSHOT and ("v" in value or "requests" in value):
            self._document = value.get("v", value)
        elif change not in (_SET, _PUSH, _DELETE):
            self._count("change")
        elif not isinstance(value, dict) or not _apply(value, self._document):
            self._result.broken += 1

    def _speech(self, item: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
        if is_marked(item.get("shouldBeRemovedOnSend")) or is_marked(item.get("isHidden")):
            return  # undone
        if not is_marked(item.get("confirmation")):
            yield "user", text_of(part_of(item, "message.text")) or text_of(item.get("message"))
        response = item.get("response")
        yield "assistant", "".join(map(self._text_of, response if isinstance(response, list) else ()))

    def _text_of(self, part: object) -> str:
        """Return the text of a part of a response: Markdown has no kind, and other parts are between paragraphs."""
        kind = part.get("kind") if isinstance(part, dict) else None
        if kind is None:
            return text_of(part) or text_of(part_of(part, "value"))
        if kind in ("markdownContent", "markdownVuln"):
            return text_of(part_of(part, "content.value"))
        if kind == "inlineReference":
            return text_of(part_of(part, "name"))
        if not isinstance(kind, str) or kind not in _OTHER_PARTS:
            self._count(kind)
        return "\n\n"


def _apply(change: Mapping[str, Any], document: Any) -> bool:
    """Apply a change to a document; return whether it has the path of the change."""
    path, value = change.get("k"), change.get("v")
    if not isinstance(path, list) or not path:
        return False
    above, name = part_of(document, path[:-1]), path[-1]
    if change["kind"] == _PUSH:
        items, start = part_of(above, [name]), change.get("i")
        kept = (
            items[: start if type(start) is int and start >= 0 else None] if isinstance(items, list) else []
        )
        value = [*kept, *(value if isinstance(value, list) else ())]
    if isinstance(above, dict) and isinstance(name, str):
        above[name] = value
    elif isinstance(above, list) and type(name) is int and 0 <= name <= len(above):
        above[name : name + 1] = [value]
    else:
        return False
    return True
