"""Paths that a model wrote: relative ones only, and how risky it is to touch what they name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from agentloop.errors import ToolError
from agentloop.tools.tool import Risk

__all__ = ["is_secret", "parts_of", "risk_of_reading", "risk_of_writing"]

_DEEPEST = 40  # a folder that is nested without end can hardly be deleted again

# Names that usually hold keys or passwords; hidden files and folders count as well.
_SECRET = (
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ovpn", "*.tfstate", "*.tfvars"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*credential*", "*secret*", "*password*", "*passwd*"),
    *("*token*", "*apikey*", "*api_key*", "wallet.dat", "shadow", "*.env", "*.ppk", "*.gpg", "kubeconfig*"),
    *("service-account*.json", "service_account*.json"),
)
# Files that some other program runs without being asked: builds, tests, imports, services.
_RUNS = (
    *("conftest.py", "setup.py", "setup.cfg", "pyproject.toml", "pytest.ini", "tox.ini", "noxfile.py", "*.pth"),
    *("sitecustomize.py", "usercustomize.py", "makefile", "gnumakefile", "*.mk", "justfile", "rakefile", "gemfile"),
    *("cmakelists.txt", "build.rs", "build.gradle*", "settings.gradle*", "pom.xml", "build.xml", "meson.build"),
    *("package.json", "gruntfile.*", "gulpfile.*", "*.config.js", "*.config.ts", "*.config.mjs", "*.config.cjs"),
    *("dockerfile*", "docker-compose*", "compose.yaml", "compose.yml", "jenkinsfile*", "vagrantfile", "procfile"),
    *("crontab", "*.service", "*.timer", "*.desktop", "autorun.inf", "*.bashrc", "*.profile", "dodo.py", "tasks.py"),
    *("cargo.toml", "composer.json", "taskfile.y*ml", "snakefile", "sconstruct", "wscript", "activate*"),
    "head",  # with it a folder is a repository, whose file `config` names programs for git to run
)


def parts_of(path: str) -> tuple[str, ...]:
    """The names on the way to `path`, from the root on; () is the root itself. Raises ToolError for a path that is
    absolute, leads upwards, is nested without end, or is none on every system."""
    if "\0" in path or "\\" in path or path.startswith(("/", "~")) or re.match(r"[a-zA-Z]:|\w+://", path):
        raise ToolError(f"{path[:200]!r} is not allowed: give a path relative to the root, with / between the names")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if len(parts) > _DEEPEST:
        raise ToolError(f"{path[:200]!r} is not allowed: a path has at most {_DEEPEST} names")
    if ".." in parts:
        raise ToolError(f"{path[:200]!r} is not allowed: a path must not contain ..")
    return parts


def is_secret(parts: tuple[str, ...]) -> bool:
    """A hidden file or folder, or one that is named like a store of keys."""
    return any(_seen(part).startswith(".") or _matches(part, _SECRET) for part in parts)


def risk_of_reading(arguments: Mapping[str, Any]) -> Risk | None:
    """For `Tool.risk_of`. A path that is refused anyway needs no permission."""
    try:
        return "danger" if is_secret(parts_of(arguments.get("path", "."))) else None
    except ToolError:
        return None


def risk_of_writing(arguments: Mapping[str, Any]) -> Risk | None:
    try:
        parts = parts_of(arguments["path"])
    except ToolError:
        return None
    return "danger" if is_secret(parts) or any(_matches(part, _RUNS) for part in parts) else None


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    folded = _seen(name).rstrip(". ")
    return any(fnmatchcase(folded, pattern) for pattern in patterns)


def _seen(name: str) -> str:
    """Without what some file systems ignore: case, forms of a letter, and invisible characters."""
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold()
