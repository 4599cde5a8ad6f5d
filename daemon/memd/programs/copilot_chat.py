"""Where Copilot's chat in VS Code and its kin keeps conversations: in the editor's own store, and as events like those
of Copilot CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.conversation import Session
from memd.programs.copilot import SESSION_NAME, SUFFIX, CopilotReader
from memd.programs.program import FileReader, TranscriptFile, TranscriptReader
from memd.programs.records import decode_record, path_of_uri, text_of
from memd.programs.small_files import paths_in, read_small_file
from memd.programs.vscode_chat import CHAT_FORM, ChatReader

_EVENTS: Final = ("GitHub.copilot-chat", "transcripts")
_CHATS: Final = ("chatSessions",)
_RANKS: Final = {SUFFIX: 2, ".json": 1}
"""Of one session, the editor's own store is read, which has the title too. Its log is newer than its document."""

_workspace = msgspec.json.Decoder(dict[str, object])


class CopilotChat(FileReader):
    """The folders of workspaces of editors, also on remote machines, and of chats without a workspace."""

    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a reader."""
        return ChatReader(file, CHAT_FORM) if file.rank else CopilotReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript in one of the folders of a workspace; in a folder of chats also at its top."""
        *folders, name = path.split("/")
        session, ending = os.path.splitext(name)
        if not SESSION_NAME.fullmatch(session) or ending not in _RANKS:
            return None
        if not folders or (*folders[1:],) == _CHATS:
            return TranscriptFile(session, rank=_RANKS[ending])
        is_events = (*folders[1:],) == _EVENTS and ending == SUFFIX
        return TranscriptFile(session) if is_events else None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        _, *folders = path.split("/")
        return any((*folders,) == names[: len(folders)] for names in (_EVENTS, _CHATS))

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the folder that `workspace.json` names; one look per workspace."""
        if not SESSION_NAME.fullmatch(session_id):
            return None
        names = [(*_EVENTS, session_id + SUFFIX), *((*_CHATS, session_id + ending) for ending in _RANKS)]
        for workspace in paths_in(folder):
            if any(os.path.lexists(os.path.join(workspace, *name)) for name in names):
                content = decode_record(
                    read_small_file(os.path.join(workspace, "workspace.json")), _workspace
                )
                named = text_of(content.get("folder")) if content is not None else ""
                return Session(session_id, cwd=path_of_uri(named))
        return None


READER: Final = CopilotChat()
