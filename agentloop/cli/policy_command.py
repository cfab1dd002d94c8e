"""`agentloop policy`: what a policy file would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from agentloop.tools.tool import Risk

__all__ = ["policy"]


@click.group(no_args_is_help=True)
def policy() -> None:
    """Work with policy files.

    \b
      agentloop policy check policy.toml
    """


@policy.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("tool", required=False)
@click.argument("arguments", default="{}")
@click.option("--risk", type=click.Choice(["read", "write", "danger"]), help="The risk that the tool declares.")
def check(file: Path, tool: str | None, arguments: str, risk: Risk | None) -> None:
    """Check a policy file, or what it says of a call.

    \b
      agentloop policy check policy.toml
      agentloop policy check policy.toml write_file '{"path": "notes.txt"}' --risk write

    With TOOL and its ARGUMENTS (a JSON object) it says which rule decides.
    """
    from agentloop.cli.printable import one_line
    from agentloop.parts import ToolCall
    from agentloop.tools.policy import ToolRequest
    from agentloop.tools.policy_file import TomlPolicy

    loaded = TomlPolicy.load(file)
    if tool is None:
        click.echo(f"{file}: {len(loaded.rules)} rules, default {loaded.default}")
        return
    call = ToolRequest.of(ToolCall("", tool, arguments))
    if call.parsed is None:
        raise click.UsageError(f"ARGUMENTS must be a JSON object, not {arguments}")
    request = ToolRequest(call.id, call.name, call.arguments, call.parsed, risk=risk)
    click.echo(one_line(str(loaded.explain(request))))
