"""One request of any kind, as it was written: nothing is added, retried or decoded."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager

import httpx

from agentloop.errors import ConfigError, TransportError
from agentloop.http.proxies import environment_proxy
from agentloop.http.secrets import redact_text, redact_url

__all__ = ["send_once", "single_request", "single_transport"]


def single_request(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    body: bytes | None,
    *,
    login: str | None = None,
    seconds: float | None = None,
) -> httpx.Request:
    """The request, with a length where it has a body. `login` is user:password; `seconds` bounds each wait for bytes.

    Raises ConfigError for a URL or a header that cannot be sent.
    """
    try:
        request = httpx.Request(method, url, headers=list(headers), content=body)
    except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
        raise ConfigError(f"the request to {redact_url(url)} cannot be sent: {redact_text(str(error))}") from None
    if login is not None:
        user, _, password = login.partition(":")
        request = next(httpx.BasicAuth(user, password).auth_flow(request))
    if seconds is not None:
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    return request


def single_transport(url: str, *, insecure: bool = False) -> httpx.BaseTransport:
    """A transport for one request, through the proxy that the environment names for the URL; `insecure` skips the check
    of certificates."""
    return httpx.HTTPTransport(verify=not insecure, proxy=environment_proxy(httpx.URL(url), os.environ))


@contextmanager
def send_once(
    request: httpx.Request, transport: httpx.BaseTransport, *, follow: bool = False
) -> Generator[httpx.Response]:
    """The response, whose body is read with `iter_bytes()`; at the end of the block it and the transport are closed.

    `follow` goes where redirects lead. Raises TransportError when there is no response, or its body breaks off.
    """
    try:
        with httpx.Client(transport=transport, trust_env=False, follow_redirects=follow) as client:
            response = client.send(request, stream=True)
            try:
                yield response
            finally:
                response.close()
    except httpx.HTTPError as error:
        failure = TransportError(f"{redact_url(request.url)}: {redact_text(str(error)) or type(error).__name__}")
    else:
        return
    raise failure  # outside the handler: httpx's error holds the request, and so the key
