"""Records of Claude Code's transcripts: their fields, and whose words they contain."""

from __future__ import annotations

from typing import Final

import msgspec

from memd.programs.records import decode_record, is_marked, is_utf8, text_of
from memd.text.transcripts.injected import without_injected
from memd.text.transcripts.tags import opens_with_tag

KNOWN_TYPES: Final = frozenset(
    """system progress custom-title ai-title summary last-prompt queue-operation relocated continued-in
    file-history-snapshot file-history-delta agent-name agent-color agent-setting tag mode permission-mode pr-link
    attribution-snapshot content-replacement context-collapse-commit context-collapse-snapshot worktree-state
    speculation-accept task-summary cost-state bridge-session frame-link saved_hook_context result tools-used atis-latch
    api-request api-request-shape api-request-blob""".split()
)
"""Types of records without words of people or answers."""

_PERSON_BLOCKS: Final = frozenset(("text", "image", "document"))
_ANSWER_BLOCKS: Final = frozenset(
    """text thinking redacted_thinking tool_use server_tool_use image document tool_result web_search_tool_result
    web_fetch_tool_result code_execution_tool_result mcp_tool_use mcp_tool_result tool_reference fallback""".split()
)

_OPENINGS: Final = (
    "[Request interrupted",
    "This session is being continued from a previous conversation",  # summaries of old releases have no mark
)
_COMMAND: Final = "<command-"
"""Beginning of a command that a person chose, such as `/review`: its text isn't typed."""

_SHELL, _SHELL_END = "<bash-input>", "</bash-input>"
_SYNTHETIC: Final = "<synthetic>"
"""Model of answers that the program writes instead of one, such as errors."""


class ClaudeRecord(msgspec.Struct, rename="camel", gc=False):
    """A line. Any field may have any type."""

    type: object = None
    uuid: object = None
    parent_uuid: object = msgspec.UNSET
    logical_parent_uuid: object = None
    session_id: object = None
    timestamp: object = None
    cwd: object = None
    git_branch: object = None
    version: object = None
    entrypoint: object = None
    is_sidechain: object = None
    is_meta: object = None
    is_compact_summary: object = None
    is_visible_in_transcript_only: object = None
    is_virtual: object = None
    is_api_error_message: object = None
    team_name: object = None
    text_not_typed: object = None
    origin: object = None
    forked_from: object = None
    subtype: object = None
    custom_title: object = None
    ai_title: object = None
    summary: object = None
    relocated_cwd: object = None
    message: msgspec.Raw = msgspec.Raw()
    attachment: msgspec.Raw = msgspec.Raw()
    tool_use_result: msgspec.Raw = msgspec.Raw()
    permission_decision: msgspec.Raw = msgspec.Raw()


class MessageBlock(msgspec.Struct, gc=False):
    """A part of a message."""

    type: object = None
    text: object = None


class _Content(msgspec.Struct, gc=False):
    role: object = None
    id: object = None
    model: object = None
    content: str | list[MessageBlock] | None = None


class _Attachment(msgspec.Struct, rename="camel", gc=False):
    type: object = None
    command_mode: object = None
    is_meta: object = None
    origin: object = None
    prompt: msgspec.Raw = msgspec.Raw()


class VisibleText(msgspec.Struct, gc=False):
    """What a record says.

    Attributes:
        text: The visible text of a person or an answer; empty without any.
        answer: Id of the answer that the text is a part of.
        is_prompt: Whether a person sent it, with or without text.
        unknown: Type of a part that isn't known; else empty.
        is_broken: Whether it can't be read.
    """

    text: str = ""
    answer: str = ""
    is_prompt: bool = False
    unknown: str = ""
    is_broken: bool = False


_record = msgspec.json.Decoder(ClaudeRecord)
_content = msgspec.json.Decoder(_Content)
_attachment = msgspec.json.Decoder(_Attachment)
_prompt = msgspec.json.Decoder(str | list[MessageBlock] | None)

_BROKEN: Final = VisibleText(is_broken=True)


def read_record(line: bytes) -> ClaudeRecord | None:
    """Return the record in a line, None if it is broken."""
    return decode_record(line, _record)


def is_headless(record: ClaudeRecord) -> bool:
    """Return whether a record is of a run without a person."""
    return isinstance(record.entrypoint, str) and record.entrypoint.startswith("sdk-")


def words_of_person(text: object) -> str:
    """Return what a person typed in a text of role user; empty for a machine's text."""
    said = without_injected(text).strip() if isinstance(text, str) else ""
    if said.startswith(_SHELL):
        command = said[len(_SHELL) :].split(_SHELL_END, 1)[0].strip()
        return f"!{command}" if command else ""
    return "" if opens_with_tag(said) or said.startswith(_OPENINGS) else said


def read_prompt(record: ClaudeRecord, line: bytes) -> VisibleText:
    """Return what a record of type `user` says."""
    content = decode_record(bytes(record.message), _content)
    if content is None or not is_utf8(line):
        return _BROKEN
    if content.role not in (None, "user") or _is_machine(record):
        return VisibleText()
    return _prompt_in(content.content)


def read_queued_prompt(record: ClaudeRecord, line: bytes) -> VisibleText:
    """Return what an attachment says: a prompt that was typed while Claude was busy."""
    if b'"queued_command"' not in line:
        return VisibleText()
    attachment = decode_record(bytes(record.attachment), _attachment)
    if attachment is None or not is_utf8(line):
        return _BROKEN
    is_typed = (
        attachment.type == "queued_command"
        and attachment.command_mode in (None, "prompt")
        and not is_marked(attachment.is_meta)
        and _is_human(attachment.origin)
        and not _is_machine(record)
    )
    if not is_typed:
        return VisibleText()
    said = _prompt_in(decode_record(bytes(attachment.prompt), _prompt))
    said.is_prompt = False  # it is in the turn that runs, and never begins a branch
    return said


def read_answer(record: ClaudeRecord, line: bytes) -> VisibleText:
    """Return what a record of type `assistant` says: a part of an answer."""
    content = decode_record(bytes(record.message), _content)
    if content is None or not is_utf8(line):
        return _BROKEN
    is_answer = content.role in (None, "assistant") and _is_model(content.model)
    if not is_answer or is_marked(record.is_api_error_message) or is_marked(record.is_meta):
        return VisibleText()
    blocks = content.content
    if not isinstance(blocks, list):
        return VisibleText((blocks or "").strip(), text_of(content.id))
    unknown = next((f"block {text_of(each.type)}" for each in blocks if _is_strange(each)), "")
    texts = (text_of(each.text).strip() for each in blocks if each.type == "text")
    said = "\n".join(text for text in texts if text)
    return VisibleText("" if said == "(no content)" else said, text_of(content.id), unknown=unknown)


def _prompt_in(content: str | list[MessageBlock] | None) -> VisibleText:
    blocks = content if isinstance(content, list) else [MessageBlock("text", content)]
    for block in blocks:
        if not isinstance(block.type, str):
            return VisibleText()
        if block.type not in _PERSON_BLOCKS:
            return VisibleText(unknown="" if block.type in _ANSWER_BLOCKS else f"block {block.type}")
    texts = [block.text for block in blocks if block.type == "text" and isinstance(block.text, str)]
    said = "\n".join(words for text in texts if (words := words_of_person(text)))
    is_command = any(text.startswith(_COMMAND) for text in texts)
    return VisibleText(said, is_prompt=bool(said) or is_command or len(texts) < len(blocks))


def _is_machine(record: ClaudeRecord) -> bool:
    """Return whether a record of role user is marked as a machine's."""
    return not _is_human(record.origin) or any(
        map(
            is_marked,
            (
                record.is_meta,
                record.is_compact_summary,
                record.is_visible_in_transcript_only,
                record.is_virtual,
                record.team_name,
                record.text_not_typed,
            ),
        )
    )


def _is_human(origin: object) -> bool:
    if not is_marked(origin):
        return True
    return isinstance(origin, dict) and origin.get("kind", "human") == "human"


def _is_model(model: object) -> bool:
    return model is None or (isinstance(model, str) and model != _SYNTHETIC)


def _is_strange(block: MessageBlock) -> bool:
    return not isinstance(block.type, str) or block.type not in _ANSWER_BLOCKS
