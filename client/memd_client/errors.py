"""Every error memd knows: one tree for both sides of the socket.

The daemon raises these classes, the wire carries their ``code``, and a client raises the same class
again. A code is never renamed and never reused. Each class brings a ``hint``: what a person can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class MemdError(Exception):
    """The root of all errors; also what an unknown code from a newer daemon becomes.

    Args:
        message: One sentence that names the thing that went wrong.
        hint: The way out, where it is more exact than the class's own.
        data: Small structured facts (never memory text, keys or tokens).
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


# --- the conversation -------------------------------------------------------------------------------


class FrameTooBigError(MemdError):
    """A frame longer than both sides agreed on."""

    code = "frame_too_big"
    hint = "Ask for less at once: fewer texts, fewer results or fewer lines."


class FrameInvalidError(MemdError):
    """Bytes that are not a frame of the protocol."""

    code = "frame_invalid"
    hint = "Speak the protocol of docs/protocol.md; the connection was closed."


class HelloRequiredError(MemdError):
    """A request before `hello`."""

    code = "hello_required"
    hint = "Send `hello` as the first request of a connection."


class ProtocolMismatchError(MemdError):
    """Client and daemon share no protocol version."""

    code = "protocol_mismatch"
    hint = "Client and daemon are of different releases: upgrade the older one, then restart the daemon."


class MethodUnknownError(MemdError):
    """A request this daemon doesn't know."""

    code = "method_unknown"
    hint = "See the capabilities in the reply to `hello`; the daemon may be older than the client."


class BadParamsError(MemdError):
    """A parameter is missing or has the wrong type."""

    code = "bad_params"
    hint = "Compare the parameters with docs/protocol.md."


class TooManyConnectionsError(MemdError):
    """The daemon serves as many connections as it may."""

    code = "too_many_connections"
    hint = "Close idle clients, or keep one connection per process."


class TooManyRequestsError(MemdError):
    """A connection has as many requests in flight as it may."""

    code = "too_many_requests"
    hint = "Wait for replies before sending more."


class IdleTimeoutError(MemdError):
    """A connection was silent for too long."""

    code = "idle_timeout"
    hint = "Connect again; the clients of memd do so by themselves."


class PeerRefusedError(MemdError):
    """The process at the other end belongs to another user."""

    code = "peer_refused"
    hint = "Each user runs a daemon of their own: start one with `memctl status`."


class RequestCancelledError(MemdError):
    """The request was cancelled by its sender."""

    code = "cancelled"
    hint = "Nothing to do: it was asked for."


class DeadlineExceededError(MemdError):
    """No reply in the time the caller gave."""

    code = "deadline_exceeded"
    hint = "Allow more time, or see what the daemon is busy with: `memctl status`."


class ShuttingDownError(MemdError):
    """The daemon is stopping."""

    code = "shutting_down"
    hint = "Try again in a moment; a service manager starts it anew."


class ConnectionLostError(MemdError):
    """The connection broke before the reply."""

    code = "connection_lost"
    hint = "Try again: the client reconnects. If it happens again, see the daemon's log."


class DaemonUnreachableError(MemdError):
    """Nobody answers on the socket."""

    code = "daemon_unreachable"
    hint = "Start the daemon with `memd`; `memctl` starts it by itself unless MEMD_AUTOSTART is 0."


class DaemonStartError(MemdError):
    """The daemon was started and did not become ready."""

    code = "daemon_start_failed"
    hint = "Run `memd` in a terminal to see why."


class DaemonRunningError(MemdError):
    """Another daemon of this user holds the lock."""

    code = "daemon_running"
    hint = "Use the running daemon, or stop it first."


class SocketPathError(MemdError):
    """The socket's path is too long for the system, or its directory is not private."""

    code = "socket_path_invalid"
    hint = "Set MEMD_SOCKET to a short path in a directory that is yours alone (mode 0700)."


# --- agents, settings, files ------------------------------------------------------------------------


class AgentUnknownError(MemdError):
    """No agent has that id."""

    code = "agent_unknown"
    hint = "`memctl status` lists the agents."


class MemoryDisabledError(MemdError):
    """The agent's settings turn memory search off."""

    code = "memory_disabled"
    hint = "Set memorySearch.enabled to true for this agent."


class ConfigInvalidError(MemdError):
    """A settings file can't be read or holds a value of the wrong type."""

    code = "config_invalid"
    hint = "Correct the named key; until then the last good settings or the defaults are in force."


class QueryEmptyError(MemdError):
    """A search for nothing."""

    code = "query_empty"
    hint = "Give at least one word."


class PathRefusedError(MemdError):
    """A path that is not memory."""

    code = "path_refused"
    hint = "Allowed: MEMORY.md, memory.md, USER.md, memory/**/*.md and files under extraPaths."


class FileMissingError(MemdError):
    """An allowed path with no file behind it."""

    code = "file_missing"
    hint = "Search again: results name only files that exist."


class FileUnreadableError(MemdError):
    """A file that can't be read: permissions, not UTF-8, too big."""

    code = "file_unreadable"
    hint = "Mend the file or its permissions; every other file is unaffected."


# --- the index --------------------------------------------------------------------------------------


class IndexClosedError(MemdError):
    """The index was used after it was closed."""

    code = "index_closed"
    hint = "The daemon is stopping; try again in a moment."


class IndexCorruptError(MemdError):
    """The index file is damaged."""

    code = "index_corrupt"
    hint = "It is set aside and rebuilt from your Markdown by itself; nothing of yours is lost."


class IndexNewerError(MemdError):
    """The index was written by a newer release."""

    code = "index_newer"
    hint = "Upgrade memd, or move the index file away: it is rebuilt from your Markdown."


class IndexIOError(MemdError):
    """The index file can't be read or written."""

    code = "index_io"
    hint = "Check free space and permissions of the named file."


class VectorExtensionError(MemdError):
    """sqlite-vec can't be loaded or fails its self-test."""

    code = "vector_extension"
    hint = "Search works without it; reinstall sqlite-vec or correct store.vector.extensionPath."


# --- embeddings -------------------------------------------------------------------------------------


class ProviderUnavailableError(MemdError):
    """No embedding provider can be used with these settings."""

    code = "provider_unavailable"
    hint = "Keyword search works. For search by meaning run `memctl model pull minilm`."


class ProviderFailedError(MemdError):
    """The embedding provider failed or sent a reply that can't be used."""

    code = "provider_failed"
    hint = "Keyword search goes on; the daemon tries again by itself."


class LocalExtraMissingError(MemdError):
    """llama-cpp-python is not installed."""

    code = "local_extra_missing"
    hint = "Install the extra (needs a C++ compiler): pip install 'memd[local]'."


class ModelMissingError(MemdError):
    """The model file is not there."""

    code = "model_missing"
    hint = "Pull one with `memctl model pull minilm`, or correct local.modelPath."


class ModelInvalidError(MemdError):
    """The model file is not a usable embedding model."""

    code = "model_invalid"
    hint = "Use a GGUF file of an embedding model; `memctl model pull minilm` gets a small one."


class ModelChildError(MemdError):
    """The process that holds the model crashed, hung or was killed."""

    code = "model_child"
    hint = "It is started again by itself; if it keeps failing, see the daemon's log."


class DownloadFailedError(MemdError):
    """A model could not be downloaded."""

    code = "download_failed"
    hint = "Check the network and try again: the download goes on where it stopped."


class ChecksumMismatchError(MemdError):
    """A downloaded file is not the expected one."""

    code = "checksum_mismatch"
    hint = "The file was removed; try again, and don't use it from elsewhere."


class DimensionsChangedError(MemdError):
    """The provider returned vectors of another size than before."""

    code = "dimensions_changed"
    hint = "The model behind the provider changed: run `memctl index --force`."


def all_errors() -> dict[str, type[MemdError]]:
    """Return every error class by its code."""
    return dict(MemdError._classes)
