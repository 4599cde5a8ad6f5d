"""Conversations of Copilot's chat in VS Code and its kin: the same events as those of Copilot CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from memd.programs.conversation import Session
from memd.programs.copilot import SESSION_NAME, SUFFIX, CopilotReader
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.records import decode_record, text_of
from memd.programs.small_files import paths_in, read_small_file

_CHAT: Final = ("GitHub.copilot-chat", "transcripts")
_workspace = msgspec.json.Decoder(dict[str, object])


class CopilotChat(FileReader):
    """The folders of workspaces of editors, and of those that editors run on a remote machine."""

    def open(self, file: TranscriptFile) -> CopilotReader:
        """Return a reader."""
        return CopilotReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at `<workspace>/GitHub.copilot-chat/transcripts/<session>.jsonl`."""
        match path.split("/"):
            case [_, *folders, name] if (*folders,) == _CHAT and name.endswith(SUFFIX):
                session = name.removesuffix(SUFFIX)
                return TranscriptFile(session) if SESSION_NAME.fullmatch(session) else None
            case _:
                return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        _, *folders = path.split("/")
        return (*folders,) == _CHAT[: len(folders)]

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the folder that `workspace.json` names; one look per workspace."""
        if not SESSION_NAME.fullmatch(session_id):
            return None
        for workspace in paths_in(folder):
            if os.path.lexists(os.path.join(workspace, *_CHAT, session_id + SUFFIX)):
                content = decode_record(
                    read_small_file(os.path.join(workspace, "workspace.json")), _workspace
                )
                named = text_of(content.get("folder")) if content is not None else ""
                return Session(session_id, cwd=_folder_of(named))
        return None


def _folder_of(uri: str) -> str:
    """Return the path in a `file:` URI; empty for a remote one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path, errors="replace") if parts.scheme == "file" and not parts.netloc else ""


READER: Final = CopilotChat()
