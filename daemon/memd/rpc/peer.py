"""Who may connect: processes of the daemon's own user, and nobody else."""

from __future__ import annotations

import os
import struct
from typing import Any

from memd_client.discovery import peer_uid
from memd_client.errors import PeerRefusedError


def check_peer(sock: Any) -> None:
    """Let a peer pass whose process runs as our user.

    Where the system can't tell (neither Linux nor macOS) the socket's private directory alone decides.
    """
    try:
        uid = peer_uid(sock)
    except OSError as error:
        raise PeerRefusedError(f"the system doesn't say who connected: {error.strerror}") from error
    except struct.error as error:
        raise PeerRefusedError("the system doesn't say who connected: its answer is too short") from error
    if uid not in (None, os.geteuid()):
        raise PeerRefusedError(f"the daemon serves uid {os.geteuid()} only; the peer is uid {uid}")
