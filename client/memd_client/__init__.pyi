"""What the package offers, for editors and type checkers."""

from .blocking import Client as Client
from .discovery import socket_path as socket_path
from .errors import MemdError as MemdError
from .messages import PROTOCOL_VERSION as PROTOCOL_VERSION
from .messages import REQUESTS as REQUESTS
from .messages import GetReply as GetReply
from .messages import Hit as Hit
from .messages import IndexReply as IndexReply
from .messages import Progress as Progress
from .messages import SearchReply as SearchReply
from .messages import StatusReply as StatusReply
from .session import CLIENT_VERSION as CLIENT_VERSION

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
