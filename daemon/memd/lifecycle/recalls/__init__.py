"""The log of recalls: what was searched and shown, and to whom."""
