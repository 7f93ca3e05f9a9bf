"""The command ``serve``: its options, and what it says when they are wrong."""

from __future__ import annotations

from typing import TypedDict, Unpack

import click

from tui.cli.arguments import complete_scenario, parse_key, parse_speed, parse_step, scenario_mistakes

_PORT = click.IntRange(0, 65535)
_SPEED = 60.0


def _speed(text: str | None) -> float:
    """Parse the speed. Without a limit, years would pass between two requests."""
    speed = _SPEED if text is None else parse_speed(text)
    if not speed:
        raise click.BadParameter("must be a number above 0: clients need time to act.", param_hint="--speed")
    return speed


class _Given(TypedDict):
    """The options as they were given."""

    host: str
    port: int | None
    account: str | None
    key: str | None
    any_key: bool
    speed: str | None
    step: str | None
    seed: int | None
    save: str | None
    requests: str | None
    tls: bool
    quiet: bool


@click.command()
@click.argument("scenario", required=False, shell_complete=complete_scenario)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", type=_PORT, metavar="N", help="Listen on this port.  [default: 8100, or a free one]")
@click.option("--account", metavar="NAME", help="The name of the account.  [default: localbatch]")
@click.option("--key", metavar="BASE64", help="The key of the account.  [default: one that is printed]")
@click.option("--any-key", is_flag=True, help="Accept requests with any account and signature, or none.")
@click.option("--speed", metavar="X", help=f"Simulated seconds per real second.  [default: {_SPEED:g}]")
@click.option("--step", metavar="DURATION", help="Stop time, and move it by this before each request that reads.")
@click.option("--seed", type=int, metavar="N", help="Use the random seed N instead of the scenario's.")
@click.option("--save", metavar="FILE", help="At the end, write what clients did as a scenario.")
@click.option("--requests", metavar="FILE", help="Write a line for each request.")
@click.option("--tls", is_flag=True, help="Use TLS with a certificate of its own making, for bearer tokens.")
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
    """
    if given["speed"] is not None and given["step"] is not None:
        raise click.UsageError("--speed and --step exclude each other.")
    if given["key"] is not None and given["any_key"]:
        raise click.UsageError("--key and --any-key exclude each other.")
    try:
        from tui.cli import serving
    except ModuleNotFoundError as error:
        needed = f"serve needs {error.name}, which is not installed: pip install 'batchdeck[serve]'"
        raise click.UsageError(needed) from None
    options = serving.Options(
        scenario=scenario,
        host=given["host"],
        port=given["port"],
        account=given["account"] or serving.DEFAULT_ACCOUNT,
        key=serving.DEFAULT_KEY if given["key"] is None else parse_key(given["key"]),
        any_key=given["any_key"],
        speed=_speed(given["speed"]),
        step_ms=None if given["step"] is None else parse_step(given["step"]),
        seed=given["seed"],
        save=given["save"],
        requests=given["requests"],
        tls=given["tls"],
        quiet=given["quiet"],
    )
    with scenario_mistakes(quiet=options.quiet):
        return serving.serve(options)
