"""Keys that do not print, and the one place that takes keys out of texts, URLs and headers."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

from agentloop.errors import ConfigError

__all__ = ["MASK", "Secret", "holds_key", "is_sensitive", "read_key", "redact_headers", "redact_text", "redact_url"]

MASK = "***"
SHORTEST = 8  # a known key below this length ("EMPTY", "x") is no secret, and replacing it would wreck texts


class Secret:
    """A key whose repr and str do not show it; `reveal()` gives it. It cannot be pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not pickled: the key would be readable in the file")


def read_key(value: str | Secret | None, *, setting: str = "api_key") -> Secret | None:
    """A key as it may go into a header, or None when it is empty or not given.

    White space around it (a newline from a file, say) is taken off. A blank, a control character, or anything outside
    ASCII within it raises ConfigError, which names `setting` and the position, and never the key.
    """
    text = value.reveal() if isinstance(value, Secret) else value
    key = (text or "").strip()
    for position, character in enumerate(key, start=1):
        if not "!" <= character <= "~":
            raise ConfigError(
                f"{setting}: character {position} of the key is {_kind(character)}; keys are printable ASCII without "
                "blanks. Copy the key again, without what surrounds it"
            )
    return Secret(key) if key else None


def _kind(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if character.isspace():
        return f"a blank or line break ({code})"
    return f"a control character ({code})" if ord(character) < 128 else f"not ASCII ({code})"


# --- redaction -------------------------------------------------------------------------------------------------------

# A key may stand behind a JSON escape (`\n`, `\u00e9`) or a letter that is not ASCII, so `\b` is not its border.
_BORDER = r"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))"
# Key shapes of model vendors (a digit or star is asked for, so that words such as "sk-learn-contrib" stay), and of
# what tools may show: web tokens, AWS, GitHub, Slack, key files.
_SHAPES = (
    rf"{_BORDER}(?:"
    r"(?:sk|gsk|xai|hf|pplx|nvapi|rk|pk|fw|tgp|csk|r8)[-_](?=[\w*.-]*[\d*])[\w*.-]{8,}"
    r"|AIza[\w-]{20,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|(?:gh[opsru]|github_pat)_[A-Za-z0-9_]{22,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
# Behind a scheme word a key has a digit or "=", or is long; "a basic example" and "the bearer of this" are prose.
_SCHEMES = r"(?i)\b(Bearer|Basic)(\s+|%20|\+)(?!\*\*\*)(?=[\w.~+/-]*[\d=]|[\w.~+/-]{24})[^\s\"',;&<>\\]{8,}"
_USERINFO = r"(?i)(\b[a-z][a-z0-9+.-]*://)[^\s/@\"'<>?#]+@"
_PARAMETERS = r"([?&;](?P<name>[\w.~%-]+)=)(?P<value>[^&;#\s\"'<>\\]+)"
_SENSITIVE = frozenset(
    {
        "apikey",
        "auth",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "organization",
        "passwd",
        "password",
        "secret",
        "sig",
        "signature",
        "token",
    }
)


def redact_text(text: str, secrets: Iterable[str | Secret] = ()) -> str:
    """The text without keys: those given (also percent-encoded, as JSON, in base64), and what is shaped like one.

    Given keys shorter than eight characters are taken out only where their place shows that they are keys.
    """
    for form in _forms(secrets):
        text = text.replace(form, MASK)
    text = re.sub(_SHAPES, MASK, text)
    text = re.sub(_SCHEMES, rf"\1\2{MASK}", text)
    text = re.sub(_USERINFO, rf"\1{MASK}@", text)
    return re.sub(_PARAMETERS, _redact_parameter, text)


def holds_key(text: str, secrets: Iterable[str | Secret]) -> bool:
    """Whether one of the given keys stands in the text, in any spelling that `redact_text` takes out."""
    return any(form in text for form in _forms(secrets))


def redact_url(url: object, secrets: Iterable[str | Secret] = ()) -> str:
    """The URL without its user-info and without the values of parameters that are named like keys. A text that is no
    URL is redacted as a text."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return redact_text(str(url), secrets)
    host = parts.netloc.rpartition("@")
    netloc = f"{MASK}@{host[2]}" if host[1] else parts.netloc
    return redact_text(urlunsplit(parts._replace(netloc=netloc)), secrets)


def redact_headers(
    headers: Mapping[str, str] | Iterable[tuple[str, str]], secrets: Iterable[str | Secret] = ()
) -> list[tuple[str, str]]:
    """Name and value pairs in their order; values of headers named like keys are masked, the scheme word is kept."""
    pairs = cast("Iterable[tuple[str, str]]", headers.items() if isinstance(headers, Mapping) else headers)
    known = tuple(secrets)
    return [(name, _redact_header(name, value, known)) for name, value in pairs]


def _redact_header(name: str, value: str, secrets: Iterable[str | Secret]) -> str:
    if not is_sensitive(name):
        return redact_text(value, secrets)
    scheme = re.match(r"(Bearer|Basic)\s+", value, re.IGNORECASE)
    return f"{scheme.group(0)}{MASK}" if scheme else MASK


def _redact_parameter(found: re.Match[str]) -> str:
    return f"{found.group(1)}{MASK}" if is_sensitive(found.group("name")) else found.group(0)


def is_sensitive(name: str) -> bool:
    """Whether a header or parameter is named like a key: by whole words, so that `remaining-tokens` is not."""
    return not _SENSITIVE.isdisjoint(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()))


def _forms(secrets: Iterable[str | Secret]) -> list[str]:
    """Every spelling of the keys, the longest first."""
    found: set[str] = set()
    for secret in secrets:
        key = secret.reveal() if isinstance(secret, Secret) else secret
        if len(key) >= SHORTEST:
            quoted = {quote(key, safe=""), quote_plus(key)}
            lower = {re.sub("%..", lambda escape: escape[0].lower(), form) for form in quoted}
            found |= {key, *quoted, *lower, json.dumps(key)[1:-1], *_base64_forms(key)}
    return sorted(found, key=len, reverse=True)


def _base64_forms(key: str) -> set[str]:
    """The key as it looks inside base64, at each of the three places where it may begin within a group of bytes."""
    out = {base64.b64encode(key.encode()).decode()}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + key.encode()).decode().rstrip("=")
        # The first and the last character may hold bits of the neighbours.
        cut = whole[(0, 2, 3)[before] : len(whole) - (1 if (before + len(key.encode())) % 3 else 0)]
        out.add(cut)
    return out | {form.replace("+", "-").replace("/", "_") for form in out}
