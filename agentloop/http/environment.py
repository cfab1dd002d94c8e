"""Where and as whom to ask, from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping

import httpx

from agentloop.errors import ConfigError
from agentloop.http.endpoint import ClientSettings
from agentloop.http.proxies import is_loopback
from agentloop.http.secrets import read_key
from agentloop.wire.quirks import PRESETS, Quirks, preset

__all__ = ["from_environment"]

_OWN = Quirks(
    name="custom",
    base_url_env="AGENTLOOP_BASE_URL",
    key_env="AGENTLOOP_API_KEY",
    model_env="AGENTLOOP_MODEL",
)


def from_environment(
    name: str | None, model: str | None, settings: ClientSettings, environment: Mapping[str, str] = os.environ
) -> tuple[str, str, ClientSettings]:
    """Base URL, model and settings. What the caller gave wins. An empty variable counts as unset.

    Raises ConfigError, which names the variables to set.
    """
    name = name or settings.get("provider")
    row = preset(name) if name else _configured(environment)
    base_url = _variable(environment, row.base_url_env) or row.base_url
    if base_url is None:
        raise ConfigError(f"no base URL for {row.name}: set {row.base_url_env}")
    found = ClientSettings(**settings)
    if found.get("api_key") is None:
        found["api_key"] = read_key(_variable(environment, row.key_env), setting=f"the variable {row.key_env}")
        if found["api_key"] is None and row is not _OWN and not _is_local(base_url):
            raise ConfigError(f"no key for {row.name}: set {row.key_env}, or pass api_key=")
    if row is not _OWN:
        found.setdefault("quirks", row)
        found.setdefault("provider", row.name)
    model = model or _variable(environment, row.model_env) or row.default_model
    if not model:
        raise ConfigError(f"no model for {row.name}: set {row.model_env}, or pass model=")
    return base_url, model, found


def _configured(environment: Mapping[str, str]) -> Quirks:
    if _variable(environment, _OWN.base_url_env):
        return _OWN
    by_key = {
        row.key_env: row for row in reversed(PRESETS.values())
    }  # of several wires of one key the first row counts
    rows = [row for key, row in reversed(by_key.items()) if _variable(environment, key)]
    if len(rows) == 1:
        return rows[0]
    if rows:
        raise ConfigError(f"several providers have a key: name one of {', '.join(row.name for row in rows)}")
    keys = ", ".join(key for key in by_key if key)
    raise ConfigError(
        f"no provider is configured: set AGENTLOOP_BASE_URL and AGENTLOOP_MODEL (and AGENTLOOP_API_KEY where a key is "
        f"needed), or one of {keys}"
    )


def _variable(environment: Mapping[str, str], name: str | None) -> str | None:
    return (environment.get(name, "").strip() or None) if name else None


def _is_local(base_url: str) -> bool:
    try:
        return is_loopback(httpx.URL(base_url).host)
    except httpx.InvalidURL:
        return False
