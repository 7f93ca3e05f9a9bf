"""The command ``serve``: its options, and what it says when they are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from tui.cli.arguments import (
    check_apart,
    complete_scenario,
    needing,
    parse_key,
    parse_speed,
    parse_step,
    scenario_mistakes,
    seed_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.cli.serving import Options

_PORT = click.IntRange(0, 65535)
_SPEED = 60.0
_HOST = "127.0.0.1"


def _speed(text: str | None) -> float:
    """Parse the speed. Without a limit, years would pass between two requests."""
    speed = _SPEED if text is None else parse_speed(text)
    if not speed:
        raise click.BadParameter("must be a number above 0: clients need time to act.", param_hint="--speed")
    return speed


class ClientOptions(TypedDict):
    """The options about clients as they were given to ``serve``, or to ``open --serve``."""

    host: str | None
    port: int | None
    allow_host: tuple[str, ...]
    account: str | None
    key: str | None
    any_key: bool
    step: str | None
    save: str | None
    requests: str | None
    tls: bool


class _Given(ClientOptions):
    """The options as they were given to ``serve``."""

    speed: str | None
    seed: int | None
    quiet: bool


_ABOUT_CLIENTS = (
    click.option("--host", metavar="ADDRESS", help=f"Listen on this address.  [default: {_HOST}]"),
    click.option("--port", type=_PORT, metavar="N", help="Listen on this port.  [default: 8100, or a free one]"),
    click.option(
        "--allow-host",
        metavar="NAME",
        multiple=True,
        help="Answer clients that reach this machine by this name, too; repeatable.",
    ),
    click.option("--account", metavar="NAME", help="The name of the account.  [default: localbatch]"),
    click.option("--key", metavar="BASE64", help="The key of the account.  [default: one that is printed]"),
    click.option("--any-key", is_flag=True, help="Accept any account, key and token, or none."),
    click.option(
        "--step",
        metavar="DURATION",
        help="Stop time at a fixed start, and move it by this after each request that reads.",
    ),
    click.option("--save", metavar="FILE", help="At the end, write what clients did as a scenario."),
    click.option("--requests", metavar="FILE", help="Write a line for each request."),
    click.option("--tls", is_flag=True, help="Use TLS with a certificate of its own making, which is printed."),
)


def client_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options about clients."""
    for option in reversed(_ABOUT_CLIENTS):
        command = option(command)
    return command


def read_options(
    scenario: str | None, given: ClientOptions, *, speed: str | None, seed: int | None, quiet: bool
) -> Options:
    """Return the options of a server.

    Raises:
        click.UsageError: They are wrong, or the extra ``serve`` is not installed.
    """
    if speed is not None and given["step"] is not None:
        raise click.UsageError("--speed and --step exclude each other.")
    check_apart(filter(None, [scenario]), {"--save": given["save"], "--requests": given["requests"]})
    if given["key"] is not None and given["any_key"]:
        raise click.UsageError("--key and --any-key exclude each other.")
    with needing("serve", "serve"):
        from tui.cli import serving
    account = serving.DEFAULT_ACCOUNT if given["account"] is None else given["account"]
    if not (account and account.isprintable()):
        raise click.BadParameter("must be printable text.", param_hint="--account")
    host = _HOST if given["host"] is None else given["host"].strip("[]")
    names = [_name(host, "--host"), *(_name(each, "--allow-host") for each in given["allow_host"])]
    key = serving.DEFAULT_KEY if given["key"] is None else parse_key(given["key"])
    return serving.Options(
        scenario=scenario,
        host=host,
        port=given["port"],
        credentials=serving.Credentials(account, key, given["any_key"]),
        speed=_speed(speed),
        step_ms=None if given["step"] is None else parse_step(given["step"]),
        seed=seed,
        save=given["save"],
        requests=given["requests"],
        tls=given["tls"],
        quiet=quiet,
        names=tuple(names),
    )


def _name(text: str, option: str) -> str:
    """Return the name or address of a host as requests have it."""
    from engine.rest.hosts import host_name

    try:
        return host_name(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint=option) from None


@click.command()
@click.argument("scenario", required=False, shell_complete=complete_scenario)
@client_options
@click.option("--speed", metavar="X", help=f"Simulated seconds per real second.  [default: {_SPEED:g}]")
@seed_option
@click.option("--quiet", "-q", is_flag=True, help="Print only the address.")
def serve(scenario: str | None, **given: Unpack[_Given]) -> int:
    """Let clients of Azure Batch act on a simulation.

    SDKs, az batch and tools such as Airflow and Nextflow use it like the service: give them the endpoint, account and
    key that are printed. Without a SCENARIO the account is empty. Runs until Ctrl-C.

    \b
    Examples:
      batchdeck serve
      batchdeck serve my.yaml --port 8100 --speed 600
      batchdeck serve --step PT10S --save session.yaml      for tests: the log depends on the requests alone

    Simulated time begins now. With --step it begins on 2026-01-05 at 08:00 UTC, so that the same requests give the same
    log on any day. The startTime of a scenario takes precedence.
    """
    options = read_options(scenario, given, speed=given["speed"], seed=given["seed"], quiet=given["quiet"])
    from tui.cli import serving

    with scenario_mistakes(quiet=options.quiet):
        return serving.serve(options)
