"""`agentloop from-curl`: a curl command that was found somewhere, as a call of ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.program import STOPPED
from agentloop.cli.screen import Screen
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.cli.curl_line import Consent, CurlCall

__all__ = ["from_curl"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("line", default="-")
@click.option("--file", type=_FILE, metavar="FILE", help="Read the command from FILE in place of an argument or stdin.")
@click.option("--python", is_flag=True, help="Print a Python script that sends the same. The default.")
@click.option("--run", is_flag=True, help="Send it, and write the body of the response to stdout.")
@click.option("--cassette", type=_FILE, metavar="FILE", help="Send it as --run does, and record the exchange in FILE.")
@click.option("--allow-read", "read", is_flag=True, help="Let @FILE read that file.")
@click.option("--allow-write", "write", is_flag=True, help="Let -o write that file.")
@click.option("--allow-insecure", "insecure", is_flag=True, help="Let -k skip the check of certificates.")
@click.pass_context
def from_curl(
    context: click.Context,
    line: str,
    file: Path | None,
    python: bool,
    run: bool,
    cassette: Path | None,
    **consents: bool,
) -> None:
    """Read a curl command: print it in Python, or send it.

    \b
      agentloop from-curl "curl https://example.org/v1/models -H 'Authorization: Bearer $KEY'"
      agentloop from-curl --file line.txt --run --cassette x.json

    LINE is a command as documents and browsers have them for bash; "-" reads it from stdin. Nothing in it is run by a
    shell, and an option that is not known is refused. Keys in it are shown as variables,
    whose names stderr tells when they are not set.
    """
    from agentloop.cli.curl_line import read_curl

    screen = Screen()
    call = read_curl(_text(line, file), _given(consents))
    for note in call.notes:
        screen.note(note)
    if python or not (run or cassette):
        from agentloop.cli.curl_script import script, variables_of, without_keys

        hidden = without_keys(call)
        screen.answer(script(hidden))
        for name in variables_of(hidden):
            if not os.environ.get(name):
                screen.note(f"set {name} before you run it")
        if call.output is not None:
            screen.note(f"left out of the script: -o {call.output}")
    if (run or cassette) and _send(call, cassette, screen) >= 400:
        context.exit(STOPPED)


def _text(line: str, file: Path | None) -> str:
    if file is not None:
        if line != "-":
            raise click.UsageError("give the command as an argument or with --file, not both")
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
            raise ConfigError(f"{file}: cannot be read: {reason}") from None
    return sys.stdin.read() if line == "-" else line


def _given(consents: dict[str, bool]) -> frozenset[Consent]:
    names: tuple[Consent, ...] = ("read", "write", "insecure")
    return frozenset(name for name in names if consents[name])


def _send(call: CurlCall, cassette: Path | None, screen: Screen) -> int:
    """Send the call and write what comes as it comes; gives the status."""
    from agentloop.cli.shell_words import filled
    from agentloop.http.single import send_once, single_request, single_transport

    url = filled(call.url, os.environ)
    request = single_request(
        call.method,
        url if "://" in url else f"http://{url}",  # as curl reads it
        [(name, filled(value, os.environ)) for name, value in call.headers],
        filled(call.body, os.environ).encode() if call.body is not None else None,
        login=filled(call.login, os.environ) if call.login is not None else None,
        seconds=call.seconds,
    )
    transport: Any = single_transport(str(request.url), insecure=call.insecure)
    if cassette is not None:
        from agentloop.testing import RecordTransport

        transport = RecordTransport(cassette, transport)
    with send_once(request, transport, follow=call.follow) as response:
        screen.note(f"{response.http_version} {response.status_code} {response.reason_phrase}")
        _show(response, call.output, screen)
    return response.status_code


def _show(response: Any, output: str | None, screen: Screen) -> None:
    if output is not None:
        with open(output, "wb") as file:
            file.writelines(response.iter_bytes())
        return
    for text in response.iter_text():
        screen.answer(text)
    screen.end_answer()
