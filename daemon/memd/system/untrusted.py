"""Escaping of text of memory for prompts and models, as clients do it."""

from memd_client.escaping import BLOCK_NOTICE as NOTICE
from memd_client.escaping import block, escape, names_in_json, on_one_line, show_unseen

__all__ = ["NOTICE", "block", "escape", "names_in_json", "on_one_line", "show_unseen"]
