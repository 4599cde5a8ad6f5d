"""memd beside OpenClaw and memsearch as they come from their registries, in one run."""

from benchmarks.peers.comparison import measure

__all__ = ["measure"]
