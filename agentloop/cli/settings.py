"""The options that `run` and `chat` share: who answers, with which tools, and within which bounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import click

from agentloop.cli.program import errors_as_json, show_tracebacks

__all__ = ["Settings", "SettingsCommand", "trace_option", "with_settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """One field for each option; the options' help says what they mean."""

    provider: str | None = None
    base_url: str | None = None
    wire: str | None = None
    key_env: str | None = None
    model: str | None = None
    mock: bool = False
    system: str | None = None
    tools: tuple[str, ...] = ()
    demo_tools: bool = False
    toolbox: tuple[str, ...] = ()
    root: Path | None = None
    tool_protocol: Literal["native", "text"] | None = None
    policy: Path | None = None
    allow: tuple[str, ...] = ()
    max_steps: int = 10
    max_tool_steps: int | None = None
    timeout: float | None = None
    context_limit: int | None = None
    retries: int | None = None
    stream: bool | None = None
    load: Path | None = None
    record: Path | None = None
    show_requests: Literal["text", "curl"] | None = None
    step: bool = False
    verbose: bool = False


def _remember_verbose(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    del parameter
    if value:
        show_tracebacks(context)
    return value


def _split(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    del context, parameter
    names = (name.strip() for names in value for name in names.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


_FILE = click.Path(path_type=Path, dir_okay=False)

_OPTIONS = (
    click.option("--provider", metavar="NAME",
                 help="A known provider, such as deepseek; its usual variables give key and model. An unknown name "
                 "lists them all."),
    click.option("--base-url", metavar="URL",
                 help="Any server, by its address. No key is sent to it unless --key-env names one. Without --provider "
                 "and --base-url, AGENTLOOP_BASE_URL, AGENTLOOP_MODEL and AGENTLOOP_API_KEY say whom to ask."),
    click.option("--wire", type=click.Choice(["chat", "responses", "anthropic"]),
                 help="The dialect that the server speaks. By default the provider's own, else Chat Completions."),
    click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key for --base-url."),
    click.option("--model", metavar="NAME", help="The model to ask."),
    click.option("--mock", is_flag=True, help="Ask the built-in stand-in: rules, no model, no key, no network."),
    click.option("--system", metavar="TEXT", help="Instructions that head every request."),
    click.option("--tool", "tools", multiple=True, metavar="MODULE:NAME",
                 help="Offer a Tool or a plain function; may be repeated. Modules of this directory are found."),
    click.option("--demo-tools", is_flag=True, help="Offer two demo tools: get_weather and convert_temperature."),
    click.option("--toolbox", multiple=True, metavar="NAMES", callback=_split,
                 help="Offer tools that come along: files, web, python, calc, time, memory; several with commas. Files "
                 "and memory need --root."),
    click.option("--root", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
                 help="The folder that the file tools cannot leave, and where memory keeps its file."),
    click.option("--tool-protocol", type=click.Choice(["native", "text"]),
                 help="How tools are offered: as the server knows them, or as text for models without tool calls."),
    click.option("--policy", type=_FILE, metavar="FILE",
                 help="A TOML policy that says which calls run, are asked for, or are denied. Without it tools that "
                 "declare risk read run, and all others are asked for."),
    click.option("--allow", multiple=True, metavar="TOOL",
                 help="Run this tool without asking; * and ? match, may be repeated. A policy's deny still holds."),
    click.option("--max-steps", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
                 help="Model calls at most."),
    click.option("--max-tool-steps", type=click.IntRange(min=0), metavar="N",
                 help="Rounds of tools at most; the model may still answer after the last."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
                 help="Bound of a whole run, its retries and tools included."),
    click.option("--context-limit", type=click.IntRange(min=1), metavar="TOKENS",
                 help="The model's context; requests leave old messages out before they pass seven eighths of it."),
    click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Tries after the first one fails."),
    click.option("--stream/--no-stream", default=None,
                 help="Show text as it comes. On by default when stdout is a terminal."),
    click.option("--load", type=_FILE, metavar="FILE",
                 help="Go on from a saved conversation, or from the output of --json."),
    click.option("--record", type=_FILE, metavar="FILE", help="Write all exchanges to a cassette."),
    click.option("--show-requests", "show_requests", flag_value="text", default=None,
                 help="Show each request as it is sent, keys masked; with =curl as a command for bash."),
    click.option("--show-curl", "show_requests", flag_value="curl", hidden=True),
    click.option("--step", is_flag=True, help="Pause before each model call and each tool, and show what it will be."),
    click.option("--verbose", "-v", is_flag=True, callback=_remember_verbose,
                 help="Tell more of each reply, and show tracebacks of errors."),
)  # fmt: skip


trace_option = click.option(
    "--trace",
    type=_FILE,
    metavar="FILE",
    help="Write down what happens, one JSON object per line; 'agentloop show FILE' shows it.",
)


class SettingsCommand(click.Command):
    """A command whose flag --show-requests may say how, as in --show-requests=curl, and whose errors are JSON with
    --json. For click an option either has a value or has none, and one with a value would take the prompt that follows
    it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        if "--json" in args[:end] and any(parameter.name == "json_output" for parameter in self.params):
            errors_as_json(ctx)  # known before the options are read, since reading them may fail
        if other := next((arg for arg in args[:end] if re.match("--show-requests=(?!curl$)", arg)), None):
            raise click.UsageError(f"{other}: write --show-requests, or --show-requests=curl", ctx)
        spelled = ["--show-curl" if arg == "--show-requests=curl" else arg for arg in args[:end]]
        return super().parse_args(ctx, spelled + args[end:])


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all of the options above, as the one argument `settings`."""
    names = {field.name for field in fields(Settings)}

    @functools.wraps(command)
    def call(**values: Any) -> None:
        own = {name: value for name, value in values.items() if name not in names}
        chosen = Settings(**{name: value for name, value in values.items() if name in names})
        command(settings=chosen, **own)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call
