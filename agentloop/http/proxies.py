"""The proxy of a base URL, from the environment, decided once per client."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping

import httpx

from agentloop.errors import ConfigError
from agentloop.http.secrets import redact_url

__all__ = ["environment_proxy", "is_loopback", "names_a_server"]


def environment_proxy(url: httpx.URL, environment: Mapping[str, str] = os.environ) -> httpx.Proxy | None:
    """What HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (either case) say for this URL. Loopback has no proxy.

    Raises ConfigError for a proxy variable that is no URL or has an unknown scheme.
    """
    address = _variable(environment, f"{url.scheme}_proxy") or _variable(environment, "all_proxy")
    if not address or is_loopback(url.host) or _excepted(url, _variable(environment, "no_proxy")):
        return None
    return _proxy(address if "://" in address else f"http://{address}", url.scheme)


def _variable(environment: Mapping[str, str], name: str) -> str:
    """Lower case wins, as it does with curl."""
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_a_server(url: httpx.URL) -> bool:
    """Whether a connection can be tried: httpx lets through hosts and ports that sockets refuse in odd ways."""
    labels = url.host.removesuffix(".").split(".")
    return all(0 < len(label) < 64 and "%20" not in label for label in labels) and (url.port or 0) < 65536


def _excepted(url: httpx.URL, no_proxy: str) -> bool:
    """NO_PROXY lists host names (their subdomains are meant too), host:port, addresses, networks such as 10.0.0.0/8,
    or * for all."""
    host, with_port = url.host, f"{url.host}:{url.port}"
    for entry in (part.strip().lower().lstrip(".") for part in no_proxy.split(",")):
        if entry == "*" or (entry and (entry in (host, with_port) or host.endswith(f".{entry}"))):
            return True
        if "/" in entry and _in_network(host, entry):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _proxy(address: str, scheme: str) -> httpx.Proxy:
    try:
        proxy = httpx.Proxy(address)
        good = names_a_server(proxy.url) and proxy.url.scheme in ("http", "https", "socks5", "socks5h")
    except (ValueError, httpx.InvalidURL):
        proxy, good = None, False
    if proxy is None or not good:
        raise ConfigError(
            f"the proxy {redact_url(address)!r} from {scheme.upper()}_PROXY or ALL_PROXY is not usable: write "
            "http://host:port, https://host:port or socks5://host:port, or set trust_env=False to go without"
        )
    return proxy
