"""memd compared with OpenClaw and memsearch as their registries distribute them."""

from benchmarks.peers.comparison import measure

__all__ = ["measure"]
