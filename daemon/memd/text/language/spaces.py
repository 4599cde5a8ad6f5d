"""What counts as whitespace in the texts OpenClaw writes: JavaScript's set, which is not Python's."""

from __future__ import annotations

SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every whitespace character, for `str.strip`."""

WHITESPACE = "\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The same as the inside of a character class."""
