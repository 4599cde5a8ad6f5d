"""Memories of other programs, brought into an agent's workspace: what there is, what to write, and writing it."""
