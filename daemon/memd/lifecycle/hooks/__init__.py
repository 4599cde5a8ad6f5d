"""Hooks of other programs: the text from memory at a prompt and at the start of a session."""
