"""The client of memd, the memory daemon for local AI agents."""

from .blocking import Client
from .discovery import socket_path
from .errors import MemdError
from .messages import (
    PROTOCOL_VERSION,
    REQUESTS,
    GetReply,
    Hit,
    IndexReply,
    Progress,
    SearchReply,
    StatusReply,
)
from .session import CLIENT_VERSION

__all__ = [
    "CLIENT_VERSION",
    "PROTOCOL_VERSION",
    "REQUESTS",
    "Client",
    "GetReply",
    "Hit",
    "IndexReply",
    "MemdError",
    "Progress",
    "SearchReply",
    "StatusReply",
    "socket_path",
]
