"""memd: one daemon per user that gives every local AI agent a searchable memory."""

__version__ = "0.1.0"
