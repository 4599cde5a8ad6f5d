"""All errors of memd, one tree for both sides of the socket.

The daemon raises these classes, the wire carries their ``code``, and a client raises the same class. A code is never
renamed and never reused. Each class has a ``hint``: what to do about the error.
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
from memd_client.remote_errors import GitFailedError as GitFailedError
from memd_client.remote_errors import GitMissingError as GitMissingError
from memd_client.remote_errors import RemoteExistsError as RemoteExistsError
from memd_client.remote_errors import RemoteRefusedError as RemoteRefusedError
from memd_client.remote_errors import RemoteRewrittenError as RemoteRewrittenError
from memd_client.remote_errors import RemoteUnknownError as RemoteUnknownError
from memd_client.remote_errors import RemoteUnreachableError as RemoteUnreachableError

# --- protocol, connections and the daemon -----------------------------------------------------------


class FrameTooBigError(MemdError):
    """A frame is longer than the limit."""

    code = "frame_too_big"
    hint = "request less at once: fewer texts, fewer results or fewer lines"


class FrameInvalidError(MemdError):
    """The bytes received are not a frame of the protocol."""

    code = "frame_invalid"
    hint = "follow docs/protocol.md; the connection was closed"


class HelloRequiredError(MemdError):
    """A request arrived before `hello`."""

    code = "hello_required"
    hint = "send `hello` as the first request of a connection"


class ProtocolMismatchError(MemdError):
    """Client and daemon share no protocol version."""

    code = "protocol_mismatch"
    hint = "upgrade the older one of client and daemon, then run `memctl service restart`"


class MethodUnknownError(MemdError):
    """The daemon does not know this request."""

    code = "method_unknown"
    hint = "check `capabilities` in the reply to `hello`; the daemon may be older than the client"


class BadParamsError(MemdError):
    """A parameter is missing, unknown, out of range or of the wrong type."""

    code = "bad_params"
    hint = "compare the parameters with docs/protocol.md"


class TooManyConnectionsError(MemdError):
    """The daemon has reached its limit of connections."""

    code = "too_many_connections"
    hint = "close idle clients, or keep one connection per process"


class TooManyRequestsError(MemdError):
    """A connection has reached its limit of concurrent requests."""

    code = "too_many_requests"
    hint = "wait for replies before sending more"


class DaemonBusyError(MemdError):
    """The daemon has reached its limit of concurrent requests."""

    code = "daemon_busy"
    hint = "try again in a moment; `memctl status` shows how many clients are connected"


class IdleTimeoutError(MemdError):
    """The connection was idle for too long."""

    code = "idle_timeout"
    hint = "connect again; memd's own clients do so automatically"


class PeerRefusedError(MemdError):
    """The process at the other end belongs to another user."""

    code = "peer_refused"
    hint = "start a daemon of your own with `memctl status`"


class RequestCancelledError(MemdError):
    """The request was cancelled by its sender."""

    code = "cancelled"
    hint = "send the request again if it is still needed"


class DeadlineExceededError(MemdError):
    """No reply arrived within the deadline."""

    code = "deadline_exceeded"
    hint = "allow more time, or see what the daemon is busy with: `memctl status`"


class ShuttingDownError(MemdError):
    """The daemon is stopping."""

    code = "shutting_down"
    hint = "try again in a moment; a service manager restarts it"


class AgentReloadingError(MemdError):
    """An agent is reopening: its settings changed, or its index was lost."""

    code = "agent_reloading"
    hint = "try again in a moment; `memctl status` shows the agent's state"


class ConnectionLostError(MemdError):
    """The connection broke before the reply."""

    code = "connection_lost"
    hint = "try again: the client reconnects; if it happens again, see the daemon's log"


class DaemonUnreachableError(MemdError):
    """No daemon listens on the socket."""

    code = "daemon_unreachable"
    hint = "start the daemon with `memd`; `memctl` starts it automatically unless MEMD_AUTOSTART is 0"


class HostUnreachableError(MemdError):
    """ssh can't connect to the host: its name, its port, the network, or a timeout."""

    code = "host_unreachable"
    hint = "run `ssh` with the host's name to see why; memd uses the same settings"


class HostAuthError(MemdError):
    """The host's key is unknown or has changed, or the host accepts no key of this user."""

    code = "host_auth"
    hint = "make `ssh -oBatchMode=yes` with the host's name succeed: it must not ask for anything"


class HostCommandError(MemdError):
    """The host can't run `memctl stdio`: it is missing or too old there, or the login shell prints text."""

    code = "host_command_failed"
    hint = "install memd on the host, or name its `memctl` in MEMD_HOST_COMMAND"


class DaemonStartError(MemdError):
    """The daemon was started and did not become ready."""

    code = "daemon_start_failed"
    hint = "run `memd` in a terminal to see why"


class DaemonRunningError(MemdError):
    """Another daemon of this user holds the lock."""

    code = "daemon_running"
    hint = "use the running daemon, or stop it first"


class StateDirMismatchError(MemdError):
    """The daemon serves another state folder than the client's."""

    code = "state_dir_mismatch"
    hint = (
        "unset MEMD_SOCKET to get a daemon of your own folder, or set OPENCLAW_STATE_DIR to this daemon's folder; "
        "if you installed OpenClaw meanwhile, run `memctl service restart`"
    )


class ServiceUnavailableError(MemdError):
    """No service manager is available to this user."""

    code = "service_unavailable"
    hint = "run `memctl service start` to run the daemon without one"


class ServiceFailedError(MemdError):
    """A step of `memctl service` failed: a file can't be written, or a command failed."""

    code = "service_failed"
    hint = "see `memctl service status` and `memctl service logs`; `--dry-run` shows the steps"


class SocketPathError(MemdError):
    """The socket path is too long for the system, or its directory is not private."""

    code = "socket_path_invalid"
    hint = "set MEMD_SOCKET to a short path in a directory that only you can enter (mode 0700)"


# --- agents, settings, files ------------------------------------------------------------------------


class AgentUnknownError(MemdError):
    """No agent has that id."""

    code = "agent_unknown"
    hint = "list the agents with `memctl status`"


class MemoryDisabledError(MemdError):
    """The agent's settings turn memory search off."""

    code = "memory_disabled"
    hint = "set search.enabled to true for this agent"


class ConfigInvalidError(MemdError):
    """A settings file can't be read or has a value of the wrong type."""

    code = "config_invalid"
    hint = "correct the named key; until then the last valid settings or the defaults apply"


class QueryEmptyError(MemdError):
    """The query is blank."""

    code = "query_empty"
    hint = "give at least one word"


class PathRefusedError(MemdError):
    """The path is not a memory file."""

    code = "path_refused"
    hint = "use MEMORY.md, memory.md, USER.md, memory/**/*.md or a file under extraPaths"


class FileMissingError(MemdError):
    """The path is allowed, but no such file exists."""

    code = "file_missing"
    hint = "search again: hits name only files that exist"


class FileUnreadableError(MemdError):
    """The file can't be read: permissions, not UTF-8, or too big."""

    code = "file_unreadable"
    hint = "correct the file or its permissions; all other files are unaffected"


class NoteUnwritableError(MemdError):
    """A memory file can't be written: permissions, a full disk, or no regular file."""

    code = "note_unwritable"
    hint = "free space or correct the permissions of the workspace, then try again; nothing was written"


class FactMissingError(MemdError):
    """No fact has that id."""

    code = "fact_missing"
    hint = "list the facts again: it was forgotten, or its line was edited or removed"


class FactChangedError(MemdError):
    """The fact's text differs from the one the caller expects."""

    code = "fact_changed"
    hint = "list the facts again, then edit the current text; nothing was changed"


class PageUnavailableError(MemdError):
    """The web page of `memctl web` can't be served."""

    code = "page_unavailable"
    hint = "free a port of 127.0.0.1, or use `memctl` in the terminal"


class LogUnavailableError(MemdError):
    """The daemon's log can't be found."""

    code = "log_unavailable"
    hint = "see the file next to the socket (started by a client) or the journal (service)"


# --- the index --------------------------------------------------------------------------------------


class IndexClosedError(MemdError):
    """The index was used after it was closed."""

    code = "index_closed"
    hint = "try again in a moment; the daemon is stopping"


class IndexLostError(IndexClosedError):
    """The open index file was removed, replaced or made unreadable."""

    code = "index_lost"
    hint = "try again in a moment; memd reopens the index, or rebuilds it from your Markdown"


class IndexCorruptError(MemdError):
    """The index file is damaged."""

    code = "index_corrupt"
    hint = "wait: memd moves it to quarantine and rebuilds it from your Markdown; no notes are lost"


class IndexNewerError(MemdError):
    """The index was written by a newer release."""

    code = "index_newer"
    hint = "upgrade memd, or move the index file away: memd rebuilds it from your Markdown"


class IndexIOError(MemdError):
    """The index file can't be read or written."""

    code = "index_io"
    hint = "check free space and permissions of the named file"


class VectorExtensionError(MemdError):
    """The extension sqlite-vec can't be loaded or fails its self-test."""

    code = "vector_extension"
    hint = "reinstall sqlite-vec or correct store.vector.extensionPath; search works without it"


def all_errors() -> dict[str, type[MemdError]]:
    """Return every error class by its code."""
    return dict(MemdError._classes)
