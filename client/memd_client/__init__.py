"""The client of memd, the memory daemon for local AI agents."""

from .blocking import Client
from .errors import MemdError
from .messages import GetReply, Hit, IndexReply, Progress, SearchReply, StatusReply

__all__ = ["Client", "GetReply", "Hit", "IndexReply", "MemdError", "Progress", "SearchReply", "StatusReply"]
