"""Every error memd knows: one tree for both sides of the socket.

The daemon raises these classes, the wire carries their ``code``, and a client raises the same class
again. A code is never renamed and never reused. Each class brings a ``hint``: what a person can do.
"""

from __future__ import annotations

from memd_client.error_tree import MemdError as MemdError
from memd_client.provider_errors import ChecksumMismatchError as ChecksumMismatchError
from memd_client.provider_errors import DimensionsChangedError as DimensionsChangedError
from memd_client.provider_errors import DownloadFailedError as DownloadFailedError
from memd_client.provider_errors import LocalExtraMissingError as LocalExtraMissingError
from memd_client.provider_errors import ModelChildError as ModelChildError
from memd_client.provider_errors import ModelInvalidError as ModelInvalidError
from memd_client.provider_errors import ModelMissingError as ModelMissingError
from memd_client.provider_errors import ProviderAuthError as ProviderAuthError
from memd_client.provider_errors import ProviderFailedError as ProviderFailedError
from memd_client.provider_errors import ProviderModelError as ProviderModelError
from memd_client.provider_errors import ProviderQuotaError as ProviderQuotaError
from memd_client.provider_errors import ProviderRateLimitedError as ProviderRateLimitedError
from memd_client.provider_errors import ProviderReplyError as ProviderReplyError
from memd_client.provider_errors import ProviderUnavailableError as ProviderUnavailableError
from memd_client.provider_errors import ProviderUnreachableError as ProviderUnreachableError
from memd_client.provider_errors import TextRefusedError as TextRefusedError
from memd_client.provider_errors import TokenBudgetError as TokenBudgetError

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
    hint = "Their releases differ: upgrade the older one of client and daemon, then run `memctl service restart`."


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


class DaemonBusyError(MemdError):
    """All connections together have as many requests in flight as they may."""

    code = "daemon_busy"
    hint = "Ask again in a moment; `memctl status` shows how many clients are connected."


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


class AgentReloadingError(MemdError):
    """An agent's memory is being opened anew: its settings changed, or its index was lost."""

    code = "agent_reloading"
    hint = "Ask again in a moment; `memctl status` shows how it stands."


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


class ServiceUnavailableError(MemdError):
    """There is no service manager memd could be installed into, or it doesn't answer this user."""

    code = "service_unavailable"
    hint = "`memctl service start` runs the daemon without one; agents and `memctl` start it as well."


class ServiceFailedError(MemdError):
    """A step of `memctl service` failed: a file that can't be written, a command that was refused."""

    code = "service_failed"
    hint = "See `memctl service status` and `memctl service logs`; `--dry-run` shows the steps."


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
    hint = "Set search.enabled to true for this agent."


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


class NoteUnwritableError(MemdError):
    """A memory file that can't be written: permissions, a full disk, something else in its place."""

    code = "note_unwritable"
    hint = "Nothing of it was written. Make room or mend the permissions of the workspace, then ask again."


class FactMissingError(MemdError):
    """No fact has that id."""

    code = "fact_missing"
    hint = "It was forgotten, or its line was edited or removed meanwhile; list the facts again."


class FactChangedError(MemdError):
    """The fact says something else by now than the caller knows."""

    code = "fact_changed"
    hint = "Nothing was changed. List the facts again, and edit what it says now."


class PageUnavailableError(MemdError):
    """The page of `memctl show` can't be served."""

    code = "page_unavailable"
    hint = "It needs a free port of 127.0.0.1; `memctl` shows the same in the terminal."


class LogUnavailableError(MemdError):
    """The daemon's log is nowhere where it could be read."""

    code = "log_unavailable"
    hint = "A daemon that a client starts writes one beside its socket, a service writes to the journal."


# --- the index --------------------------------------------------------------------------------------


class IndexClosedError(MemdError):
    """The index was used after it was closed."""

    code = "index_closed"
    hint = "The daemon is stopping; try again in a moment."


class IndexLostError(IndexClosedError):
    """The index file was removed, replaced or made unreadable while it was open."""

    code = "index_lost"
    hint = (
        "It is opened anew by itself, and built from your Markdown where it has to be; ask again in a moment."
    )


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


def all_errors() -> dict[str, type[MemdError]]:
    """Return every error class by its code."""
    return dict(MemdError._classes)
