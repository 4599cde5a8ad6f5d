"""An agent's lifecycle: its tools, the start of its sessions, its notes, its flushes and its facts."""
