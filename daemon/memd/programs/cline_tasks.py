"""Conversations of Cline in an editor, and of Roo Code and Kilo Code, which began as copies of it.

Each task has a folder with two documents that hold the same conversation. memd reads the one that the editor shows: it
has the words of the user as they were typed, and the time of each message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from memd.programs.conversation import Role, Session
from memd.programs.documents import DocumentFiles, DocumentFormat, DocumentReader
from memd.programs.records import is_marked, part_of, text_of
from memd.programs.small_files import read_document

_USER: Final = ("task", "user_feedback")
_ANSWERS: Final = ("text", "completion_result", "followup", "plan_mode_respond", "act_mode_respond")
_OTHERS: Final = frozenset(
    """auto_approval_max_req_reached browser_action browser_action_launch browser_action_result browser_session_status
    checkpoint_created checkpoint_saved clineignore_error codebase_search_result command command_output
    command_permission_denied condense condense_context condense_context_error conditional_rules_applied
    deleted_api_reqs diff_error error error_retry generate_explanation hook_output_stream hook_status image info
    load_mcp_documentation mcp_notification mcp_server_request_started mcp_server_response mistake_limit_reached
    new_task reasoning report_bug resume_completed_task resume_task rooignore_error shell_integration_warning
    shell_integration_warning_with_suggestion sliding_window_truncation subagent subagent_usage subtask_result
    summarize_task task_progress tool use_mcp_server use_subagents user_edit_todos user_feedback_diff""".split()
)
"""Types of messages without words of a person or an answer, besides those about requests to the model."""

_FOLDER: Final = re.compile(r"# Current Work(?:ing|space) Directory \(([^()\n]{1,4096})\)")
"""The working directory in a request to the model."""


class TaskReader(DocumentReader):
    """Reads the messages that the editor shows. The first one is the task, whose type only Cline marks."""

    def _read_messages(self, items: Sequence[object]) -> None:
        self._is_first = True
        super()._read_messages(items)

    def _speech(self, item: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
        is_first, self._is_first = self._is_first, False
        kind = text_of(item.get(item["type"])) if item.get("type") in ("ask", "say") else ""
        text = text_of(item.get("text"))
        if is_marked(item.get("partial")):
            return
        if kind in _USER or (kind == "text" and is_first):
            yield "user", text
        elif kind in _ANSWERS:
            yield from _answer(text)
        elif kind.startswith("api_req_"):
            match = _FOLDER.search(text)
            self._result.session.cwd = self._result.session.cwd or (match[1] if match is not None else "")
        elif kind not in _OTHERS:
            self._count(kind)


def _answer(text: str) -> Iterator[tuple[Role, str]]:
    """Yield an answer; of a question with options also the one that the user chose."""
    try:
        question = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        question = None
    if isinstance(question, dict):
        yield "assistant", text_of(question.get("question")) or text_of(question.get("response"))
        yield "user", text_of(question.get("selected"))
    else:
        yield "assistant", text.removesuffix("HAS_CHANGES")  # ends the result of a task that changed files


class TaskFiles(DocumentFiles):
    """An extension's folder of tasks."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return a task's folder, and the task that started it, from Roo Code's file or from Cline's list."""
        if self.transcript_at(f"{session_id}/ui_messages.json") is None:
            return None
        item = read_document(folder / session_id / "history_item.json")
        if item is None:
            tasks = read_document(folder.parent / "state" / "taskHistory.json")
            rows = tasks if isinstance(tasks, list) else []
            item = next((row for row in rows if part_of(row, "id") == session_id), None)
        parent = text_of(part_of(item, "parentTaskId"))
        cwd = text_of(part_of(item, "workspace")) or text_of(part_of(item, "cwdOnTaskInitialization"))
        return Session(session_id, "subagent" if parent else "main", parent, cwd=cwd)


READER: Final = TaskFiles(
    r"(?P<id>[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})/ui_messages\.json",
    DocumentFormat(messages="", times=("ts",)),
    TaskReader,
    "[^/]+",
)
