"""Forgets a text, a fact, a note or a conversation wherever memd has it, checks that, and writes a receipt."""
