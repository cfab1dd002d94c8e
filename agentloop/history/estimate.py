"""How many tokens a text has, estimated without a vocabulary.

Each byte of the UTF-8 text is mapped to a class (lower case, digit, CJK, ...), and a weighted sum of how often classes
and changes of class occur is taken: a tokenizer splits where the class changes. All of it is counting in C, so a text
of 200 characters takes a few microseconds and one of 2 MB some ten milliseconds. Text that looks like a special token
is text.

The weights are a least-squares fit to the geometric mean of OpenAI's o200k_base and DeepSeek's tokenizer over the first
halves of the corpus in tests/history/corpus; `python tests/bench/bench_tokens.py` prints the error on the other halves.
"""

from __future__ import annotations

__all__ = ["estimate_tokens"]


def _classes() -> bytes:
    """One class per byte value; the lead byte of a character stands for it, and 'c' for the bytes that follow."""
    ascii_classes = "".join(_ascii_class(chr(byte)) for byte in range(0x80))
    leads = "c" * 0x40 + "e" * 0x10 + "r" * 2 + "o" * 0xE + "u" * 3 + "j" + "k" * 6 + "h" * 4 + "p" * 2 + "4" * 0x10
    return (ascii_classes + leads).encode("ascii")


def _ascii_class(char: str) -> str:
    if char.isalpha():
        return "a" if char.islower() else "A"
    if char.isdigit():
        return "0"
    return " " if char == " " else "n" if char in "\r\n" else "t" if char < " " else "."


_CLASSES = _classes()
_ALWAYS = ((b"a", 0.11), (b".", 0.56), (b"n", 0.93), (b" ", 0.58), (b"  ", -0.87))
_WITH_CAPITALS = ((b"aA", 1.52), (b".A", 0.60))
_WITH_DIGITS = ((b"a0", 1.32), (b"0a", 0.25), (b".0", 0.85))
_WITH_BOTH = ((b"A0", 0.54), (b"0A", 1.17))
_CAPITAL, _DIGIT = 0.27, 0.30
# By whether the text has capitals and digits: what cannot occur is not counted.
_WEIGHTS = {
    (False, False): _ALWAYS,
    (True, False): _ALWAYS + _WITH_CAPITALS,
    (False, True): _ALWAYS + _WITH_DIGITS,
    (True, True): _ALWAYS + _WITH_CAPITALS + _WITH_DIGITS + _WITH_BOTH,
}
# The corpus says nothing of the last five: they are set by hand, on the high side.
_BEYOND_ASCII = (
    (b"e", 0.93),  # accented Latin
    (b"r", 0.30),  # Cyrillic
    (b"j", 0.60),  # kana and CJK punctuation
    (b"k", 0.65),  # Han
    (b"o", 0.45),  # Greek, Hebrew, Arabic
    (b"u", 0.90),  # Indic scripts, Thai, general punctuation
    (b"h", 0.75),  # Hangul
    (b"p", 0.80),  # full-width forms
    (b"4", 2.00),  # emoji
)


def estimate_tokens(text: str) -> float:
    """Tokens in `text`; 0 for an empty one. Not rounded, so that many small estimates add up well."""
    classes = text.encode("utf-8", "surrogatepass").translate(_CLASSES)
    count = classes.count
    capitals, digits = count(b"A"), count(b"0")
    weights = _WEIGHTS[bool(capitals), bool(digits)]
    if not text.isascii():
        weights += _BEYOND_ASCII
    total = _CAPITAL * capitals + _DIGIT * digits
    for pattern, weight in weights:
        total += weight * count(pattern)
    return total
