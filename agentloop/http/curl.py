"""A request as text that does the same when it is pasted into bash: curl, with the body as a here-document.

A here-document always ends in a line break, which the body does not. So `head -c` counts out the body's bytes, at any
length and without the limits that the words of a command have.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

import httpx

from agentloop.errors import ConfigError
from agentloop.http.proxies import is_loopback
from agentloop.http.secrets import SHORTEST, holds_key, is_sensitive
from agentloop.wire.quirks import PRESETS

__all__ = ["as_curl", "curl_variables", "split_scheme", "variable_for"]

_KEY_NAMES = frozenset({"authorization", "api-key", "x-api-key", "x-goog-api-key", "key", "api_key", "apikey"})
_BRACES = r"\$\{(\w+)\}(?!\w)"  # they are needed only before a letter
_LOGIN = "USER_AND_PASSWORD"
_PRETTY_NOTE = "# The body is indented here: its bytes are not those that the client sends."


def as_curl(
    request: httpx.Request, *, key_variable: str | None = None, body_file: str | None = None, pretty: bool = False
) -> str:
    """The request as a command for bash that sends the same method, URL, headers and body bytes.

    Keys are never in it. They become variables: `key_variable` (by default the one that the server's provider is
    known for, else AGENTLOOP_API_KEY), and for further secret headers and parameters one of their own name. With
    `body_file` the body is read from that file, which the caller writes. `pretty` indents a JSON body, and says that
    its bytes differ.

    Raises ConfigError for a body that holds a key, or that is not text and has no file, and for a `key_variable` that
    is no name.
    """
    if key_variable is not None and not re.fullmatch(r"[A-Za-z_]\w*", key_variable, re.ASCII):
        raise ConfigError("key_variable is the name of a variable, such as MY_KEY")
    keys = _Keys(request, key_variable)
    lines = [_first_line(request, keys), *_header_options(request, keys)]
    body = request.content
    keys.refuse_in("\n".join(lines), "URL")
    keys.refuse_in(body.decode("utf-8", "replace"), "body")
    if not body:
        return _command(lines)
    if body_file is not None:
        return _command([*lines, f"--data-binary {_from_file(body_file)}"])
    command = _command([*lines, "--data-binary @-"]).rstrip("\n")
    if pretty:
        redirection, document = _document(_indented(_text(body)))
        return f"{_PRETTY_NOTE}\n{command} {redirection}\n{document}"
    redirection, document = _document(_text(body))
    return f"head -c {len(body)} {redirection} | {command}\n{document}"


def curl_variables(request: httpx.Request, *, key_variable: str | None = None) -> tuple[str, ...]:
    """The variables that the command of `as_curl` needs."""
    return _Keys(request, key_variable).variables


def variable_for(name: str, host: str) -> str:
    """The variable for the secret in a header or parameter of that name: for a key the one that the host's provider is
    known for, for anything else its own name."""
    if name.lower() not in _KEY_NAMES:
        return _own_variable(name)
    rows = PRESETS.values() if not is_loopback(host) else ()  # several providers serve on the same machine
    known = (row.key_env for row in rows if row.base_url and httpx.URL(row.base_url).host == host)
    return next(known, None) or "AGENTLOOP_API_KEY"


def _own_variable(name: str) -> str:
    return re.sub(r"\W", "_", name.upper(), flags=re.ASCII)


def _command(lines: Sequence[str]) -> str:
    return " \\\n  ".join(lines) + "\n"


def _first_line(request: httpx.Request, keys: _Keys) -> str:
    words = ["curl -sS"]
    if request.headers.get("accept-encoding", "identity") != "identity":
        words.append("--compressed")  # curl must undo what the header, which is given below, asks for
    if "text/event-stream" in request.headers.get("accept", ""):
        words.append("-N")  # show each event when it comes
    if request.method != ("POST" if request.content else "GET"):
        words.append(f"-X {shlex.quote(request.method)}")
    url = request.url.copy_with(username=None, password=None, fragment=None)
    if re.search(r"[{}\[\]]", url.raw_path.decode("ascii")):
        words.append("-g")  # else curl takes braces for a list of URLs
    return " ".join([*words, keys.url_word(str(url))])


def _header_options(request: httpx.Request, keys: _Keys) -> Iterator[str]:
    for raw_name, raw_value in request.headers.raw:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if name.lower() == "content-length" or (name.lower() == "host" and value == request.url.netloc.decode("ascii")):
            continue  # curl says the same by itself
        yield keys.header_option(name, value)
    if request.content and "content-type" not in request.headers:
        yield "-H 'Content-Type:'"  # else curl says that the body is a form


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str


class _Keys:
    """The secret values of one request, each with the variable that stands for it."""

    def __init__(self, request: httpx.Request, key_variable: str | None) -> None:
        self._variables: dict[str, _Variable] = {}
        self._hidden: list[str] = []
        for name, value in (*request.headers.multi_items(), *request.url.params.multi_items()):
            if is_sensitive(name) and (secret := split_scheme(value)[1]):
                wanted = (key_variable if name.lower() in _KEY_NAMES else None) or variable_for(name, request.url.host)
                if _is_login(name, value):
                    wanted = _LOGIN
                    self._hidden += _password_of(secret)
                elif _Variable(wanted) in self._variables.values():
                    wanted = _own_variable(name)
                self._variables.setdefault(secret, _Variable(wanted))
                self._hidden.append(secret)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(variable.name for variable in self._variables.values()))

    def header_option(self, name: str, value: str) -> str:
        if not value:
            return f"-H {shlex.quote(name + ';')}"  # curl's way to say a header without a value
        if _is_login(name, value):
            return f'-u "${_LOGIN}"'
        long_ones = [secret for secret in self._variables if len(secret) >= SHORTEST]
        for secret in [split_scheme(value)[1]] if is_sensitive(name) else long_ones:
            before, found, after = value.rpartition(secret)
            if found:
                return f"-H {_word(f'{name}: {before}', self._variables[secret], after)}"
        return f"-H {shlex.quote(f'{name}: {value}')}"

    def url_word(self, url: str) -> str:
        pieces: list[str | _Variable] = []
        for part in re.split(r"(?<=[?&])([^&]*)", url):
            name, equals, value = part.partition("=")
            variable = self._variables.get(unquote_plus(value)) if is_sensitive(unquote_plus(name)) else None
            pieces += [f"{name}{equals}", variable] if variable else [part]
        return _word(*pieces)

    def refuse_in(self, text: str, what: str) -> None:
        if holds_key(text, self._hidden):
            raise ConfigError(f"the {what} holds the key itself, which a curl line must not show: take it out of there")


def _is_login(name: str, value: str) -> bool:
    return name.lower() == "authorization" and value.startswith("Basic ")


def _password_of(credentials: str) -> list[str]:
    try:
        return [base64.b64decode(credentials).decode().partition(":")[2]]
    except ValueError:
        return []


def split_scheme(value: str) -> tuple[str, str]:
    """A secret header's value as the scheme word with its blank, such as "Bearer ", and the secret itself."""
    found = re.fullmatch(r"((?i:Bearer) |[A-Za-z][A-Za-z-]* (?=\S+$))(.+)", value)  # documents write Bearer <your key>
    return (found[1], found[2]) if found else ("", value)


def _word(*pieces: str | _Variable) -> str:
    """One word for bash. Within double quotes `!` would be expanded at a terminal, so such text is quoted by itself."""
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    if not any(isinstance(piece, _Variable) for piece in pieces):
        return shlex.quote(text)
    if not re.search(r'[!"$`\\]', text):
        whole = "".join(f"${{{piece.name}}}" if isinstance(piece, _Variable) else piece for piece in pieces)
        return '"' + re.sub(_BRACES, r"$\1", whole) + '"'
    return "".join(f'"${piece.name}"' if isinstance(piece, _Variable) else shlex.quote(piece) for piece in pieces)


# --- the body --------------------------------------------------------------------------------------------------------


def _from_file(name: str) -> str:
    if name == "-":
        raise ConfigError("the body cannot be read from '-': name a file")
    return shlex.quote(f"@{name}")


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigError("the body is not text, so it cannot stand in a command: give it a file")
    return text


def _document(text: str) -> tuple[str, str]:
    """The redirection and the here-document. Its end is a word that does not occur in the text, and is quoted, so that
    bash expands nothing."""
    ends = itertools.chain(["BODY"], (f"BODY_{number}" for number in itertools.count(2)))
    end = next(word for word in ends if word not in text)
    return f"<<'{end}'", f"{text}\n{end}\n"


def _indented(text: str) -> str:
    try:
        indented = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        return indented.encode("utf-8", "backslashreplace").decode()  # lone surrogates stay escapes
    except ValueError:
        raise ConfigError("only a JSON body can be indented") from None
