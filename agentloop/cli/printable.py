"""Text that strangers wrote, made safe to show on a terminal.

A model, or a page that a tool has read, may write escape sequences that move the cursor, and bidirectional controls
that show a command backwards. Both are shown as their escapes, as Python and JSON write them.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["cut", "one_line", "printable"]

# Control characters but newline and tab, bidirectional controls, line and paragraph separators, lone surrogates. The
# joiners inside emoji and in Persian or Hindi words are left alone: they are text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Cc control, Cf invisible format characters, Cs surrogates, Co private use, Cn unassigned, Zl and Zp line separators.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def printable(text: str) -> str:
    """The text with its lines, tabs and letters, but without what could steer a terminal or turn the order around."""
    return _UNSAFE.sub(lambda found: _escape(found.group()), text)


def one_line(text: str) -> str:
    """The text as one line in which every character can be seen: line ends, invisible characters and blanks other than
    the plain one are escaped too. For what a person approves."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _hides(char) else char for char in text)


def cut(text: str, width: int) -> str:
    """At most `width` characters of the text; what is left out is counted."""
    if len(text) <= width:
        return text
    note = f"… ({len(text):,} characters)"
    return text[: max(0, width - len(note))] + note


def _hides(char: str) -> bool:
    category = unicodedata.category(char)
    return category in _INVISIBLE or (category == "Zs" and char != " ")


def _escape(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
