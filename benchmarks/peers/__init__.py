"""memd compared with OpenClaw and memsearch as their registries distribute them."""
