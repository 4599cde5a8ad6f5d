"""Errors of memory on several machines: git and remotes. Import them from `memd_client.errors`."""

from __future__ import annotations

from memd_client.error_tree import MemdError


class GitMissingError(MemdError):
    """The system's git is missing or too old."""

    code = "git_missing"
    hint = "install git 2.38 or later, then run `memctl service restart`"


class GitFailedError(MemdError):
    """A git command on memd's own repository of a memory failed."""

    code = "git_failed"
    hint = "free disk space if it is full; memd tries again, and the notes in the workspace are unaffected"


class RemoteUnknownError(MemdError):
    """The agent has no remote."""

    code = "remote_unknown"
    hint = "connect one with `memctl remote add URL`"


class RemoteExistsError(MemdError):
    """The agent has another remote already."""

    code = "remote_exists"
    hint = "run `memctl remote remove` first; the notes stay"


class RemoteUnreachableError(MemdError):
    """The remote can't be reached, or refuses this user."""

    code = "remote_unreachable"
    hint = "check the network and the address; memd tries again, and local notes are unaffected"


class RemoteRefusedError(MemdError):
    """The remote has files or objects that memd does not accept; nothing of them was used."""

    code = "remote_refused"
    hint = "remove them from the remote with git; memd then continues"


class RemoteRewrittenError(MemdError):
    """The history of the remote was rewritten, so it no longer includes what this machine had of it."""

    code = "remote_rewritten"
    hint = "if that was intended, run `memctl remote sync --accept-rewrite` to accept the new history"
