"""The commands for the real service: ``serve`` stands in for it, ``import`` reads what it and others have recorded.

The command line loads this module at every start, so the work itself is imported by the command that needs it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

from engine.base.values import shortened, visible
from tui import interrupts
from tui.cli.arguments import (
    check_apart,
    complete_scenario,
    echo,
    is_json,
    needing,
    parse_key,
    parse_speed,
    print_warnings,
    scenario_mistakes,
    seed_option,
    together,
)
from tui.cli.executing import ClientsAndPrograms, check_execution, execution_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.histories.files import Imported, PoolShape
    from engine.histories.kinds import Recognized
    from tui.cli.serving import Options

Parsed = TypeVar("Parsed")

_PORT = click.IntRange(0, 65535)
_SPEED = 60.0
_HOST = "127.0.0.1"
_RUN = "--run"


def _speed(text: str | None) -> float:
    """Parse the speed. Without a limit, years would pass between two requests."""
    speed = _SPEED if text is None else parse_speed(text)
    if not speed:
        raise click.BadParameter("must be a number above 0: clients need time to act.", param_hint="--speed")
    return speed


class _Given(ClientsAndPrograms):
    """The options as they were given to ``serve``."""

    speed: str | None
    seed: int | None
    quiet: bool


client_options = together(
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
    click.option("--tls", is_flag=True, help="Use TLS with a certificate of its own making, and issue tokens."),
    click.option(
        "--client-secret",
        metavar="TEXT",
        help="The secret with which service principals log in.  [default: any]",
    ),
    click.option(
        "--proxy",
        type=_PORT,
        is_flag=False,
        flag_value=0,
        metavar="[PORT]",
        help="Stand in for Azure's own names by a proxy on this machine.  [default: port 8101, or a free one]",
    ),
    click.option("--storage", metavar="URL", help="Pass storage accounts on to an emulator such as Azurite."),
    click.option("--own-clock", is_flag=True, help="Take times that clients send for simulated ones."),
    click.option(
        "--keep-files",
        metavar="DURATION",
        help="Leave the files of an auto pool readable for this long after it is gone.  [default: PT1M, by the clock "
        "here; none with --step]",
    ),
)


def read_options(
    scenario: str | None, given: ClientsAndPrograms, *, speed: str | None, seed: int | None, quiet: bool
) -> Options:
    """Return the options of a server.

    Raises:
        click.UsageError: They are wrong, or the extra ``serve`` is not installed.
    """
    if speed is not None and given["step"] is not None:
        raise click.UsageError("--speed and --step exclude each other.")
    named = {"--save": given["save"], "--requests": given["requests"], "--record": given["record"]}
    check_apart(filter(None, [scenario]), named)
    check_execution(given)
    if given["key"] is not None and given["any_key"]:
        raise click.UsageError("--key and --any-key exclude each other.")
    if given["client_secret"] is not None and not given["tls"] and given["proxy"] is None:
        raise click.UsageError("--client-secret needs --tls or --proxy: tokens are not sent without them.")
    if given["storage"] is not None and given["proxy"] is None:
        raise click.UsageError("--storage needs --proxy, by which programs find storage accounts.")
    with needing("serve", "serve"):
        from engine.rest.hosts import host_name
        from engine.rest.proxy import Storage
        from engine.specs.base import parse_time
        from tui.cli import serving
    account = serving.DEFAULT_ACCOUNT if given["account"] is None else given["account"]
    if not (account and account.isprintable()):
        raise click.BadParameter("must be printable text.", param_hint="--account")
    host = _HOST if given["host"] is None else given["host"].strip("[]")
    if given["execute"]:
        _check_safe(host, given)
    allowed = [("--host", host), *(("--allow-host", name) for name in given["allow_host"])]
    names = [_parsed(host_name, name, option) for option, name in allowed]
    key = serving.DEFAULT_KEY if given["key"] is None else parse_key(given["key"])
    return serving.Options(
        scenario=scenario,
        given=given,
        host=host,
        credentials=serving.Credentials(account, key, given["any_key"]),
        speed=_speed(speed),
        step_ms=None if given["step"] is None else _parsed(parse_time, given["step"], "--step"),
        seed=seed,
        quiet=quiet,
        names=tuple(names),
        keep_files_s=_kept_s(given["keep_files"], given["step"]),
        storage=None if given["storage"] is None else _parsed(Storage.at, given["storage"], "--storage"),
    )


def _check_safe(host: str, given: ClientsAndPrograms) -> None:
    """Refuse to run programs for whoever comes along. Raises click.UsageError."""
    from engine.base.hosts import is_loopback

    if not is_loopback(host):
        raise click.UsageError(f"--execute and --host {host} exclude each other: others could run programs here.")
    for option in ("any_key", "step"):
        if given[option]:
            raise click.UsageError(f"--execute and --{option.replace('_', '-')} exclude each other.")


def _kept_s(text: str | None, step: str | None) -> float:
    """Return how long the files of an auto pool stay readable, in seconds."""
    from engine.rest.session import KEEP_FILES_S
    from engine.specs.base import parse_time

    if text is None:
        return KEEP_FILES_S if step is None else 0.0
    return _parsed(parse_time, text, "--keep-files") / 1000


def _parsed(parse: Callable[[str], Parsed], text: str, option: str) -> Parsed:
    """Return what ``parse`` makes of the text of an option. Raises click.BadParameter."""
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint=option) from None


class _Serve(click.Command):
    """A command after whose options ``--run -- COMMAND...`` may follow, which are not its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before ``--``."""
        if _RUN in args:
            where = args.index(_RUN)
            if args[where + 1 : where + 2] != ["--"] or not args[where + 2 :]:
                raise click.UsageError("--run takes -- and a command after it, as the last option.", ctx)
            ctx.meta[_RUN] = tuple(args[where + 2 :])
            args = args[:where]
        return super().parse_args(ctx, args)


@click.command(cls=_Serve)
@click.argument("scenario", required=False, shell_complete=complete_scenario)
@client_options
@execution_options
@click.option("--speed", metavar="X", help=f"Simulated seconds per real second.  [default: {_SPEED:g}]")
@seed_option
@click.option("--quiet", "-q", is_flag=True, help="Print only the address.")
@click.option(
    _RUN, is_flag=True, expose_value=False, help="Run the command after -- against the server, and end with it."
)
@click.pass_context
def serve(context: click.Context, /, scenario: str | None, **given: Unpack[_Given]) -> int:
    """Let clients of Azure Batch act on a simulation.

    SDKs, az batch and tools such as Airflow and Snakemake use it like the service: give them the endpoint, account and
    key that are printed. Without a SCENARIO the account is empty. Runs until Ctrl-C.

    \b
    Examples:
      batchdeck serve
      batchdeck serve my.yaml --port 8100 --speed 600
      batchdeck serve --step PT10S --save session.yaml      for tests: the log depends on the requests alone
      batchdeck serve --proxy --run -- python pipeline.py   with Azure's own names and logins; ends with its status

    Simulated time begins now. With --step it begins on 2026-01-05 at 08:00 UTC, so that the same requests give the same
    log on any day. The startTime of a scenario takes precedence.
    """
    options = read_options(scenario, given, speed=given["speed"], seed=given["seed"], quiet=given["quiet"])
    from tui.cli import serving

    with scenario_mistakes(quiet=options.quiet):
        return serving.serve(options._replace(program=context.meta.get(_RUN, ())))


_MOST_SLOTS = 256  # of a node of any size (ACC-5)
_MOST_NODES = 100_000
_KINDS = ("arm", "terraform", "template", "azure", "swf", "wfformat")


class _GivenToImport(TypedDict):
    """The options of ``import`` as they were given."""

    swf: bool
    wfformat: bool
    kind: str | None
    parameters: str | None
    settings: tuple[str, ...]
    nodes: int | None
    slots: int | None
    fit: bool


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--swf", is_flag=True, help="FILE is a log of a cluster in the Standard Workload Format.")
@click.option("--wfformat", is_flag=True, help="FILE is a workflow in the WfFormat of WfCommons, 1.4 or 1.5.")
@click.option("--as", "kind", type=click.Choice(_KINDS), help="FILE is of this kind.  [default: as its content says]")
@click.option("--parameters", metavar="FILE", help="Take parameters of a template from FILE.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Give a parameter a value; repeatable.")
@click.option("--nodes", type=click.IntRange(1, _MOST_NODES), metavar="N", help="Assume a pool of N nodes.")
@click.option("--slots", type=click.IntRange(1, _MOST_SLOTS), metavar="N", help="Assume N task slots on each node.")
@click.option("--fit", is_flag=True, help="Replace the durations of tasks that are alike by their distribution.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    default="-",
    help="Write the scenario to FILE.  [default: stdout]",
)
def import_history(files: tuple[str, ...], target: str, **given: Unpack[_GivenToImport]) -> int:
    """Write a scenario of what really happened, or of what a template would deploy, as FILE... has it.

    JSON of Azure Batch, as `az batch ... show` and `list` print it, becomes the pools and jobs that it tells of, in
    which everything happens when it really did: pools, jobs, tasks, nodes, and the preparation and release status of
    jobs, in any number of files or folders.

    A log in the Standard Workload Format, plain or packed with gzip, becomes a job to which each line adds a task
    when it was submitted. A workflow becomes a job of tasks with dependencies and files.

    A template of ARM (or compiled Bicep), of az's batch extension or Batch Explorer, and what `terraform show -json`
    prints, become the pools, applications and jobs that they would make.

    Whatever had to be assumed is a comment line of the scenario. What was left out, or may go otherwise in a replay, is
    a warning.
    `batchdeck check` and `batchdeck run` take the scenario as any other.

    With --fit tasks that are alike become a task factory with the distribution that fits their durations best, so that
    a long history becomes a page that can be varied. The share of failed tasks stays.

    \b
    Examples:
      batchdeck import pool.json job.json tasks.json prep.json nodes.json -o risk.yaml
      batchdeck import --swf NASA-iPSC-1993-3.1-cln.swf.gz --nodes 1 --slots 128 > nasa.yaml
      batchdeck import --swf theta.swf -o theta.yaml         the pool is that of the log's header
      batchdeck import --swf theta.swf --fit > theta.yaml    distributions instead of single durations
      batchdeck import --wfformat montage.json > montage.yaml
      batchdeck import main.json --parameters prod.json --set nodes=4 -o prod.yaml
    """
    from engine.histories.files import PoolShape, scenario_lines
    from tui.cli.replay import waiting
    from tui.saving.targets import lines_target

    named = {given["kind"], *(name for name in ("swf", "wfformat") if given[name])} - {None}
    if len(named) > 1:
        raise click.UsageError("--swf, --wfformat and --as exclude each other.")
    check_apart(files, {"--output": target})
    folder = os.path.dirname(target or "") or os.curdir
    if target and is_json(target) and any(os.path.isdir(name) and os.path.samefile(folder, name) for name in files):
        echo(f"{target}: warning: will be read as an export with this folder the next time: name it .yaml", err=True)
    if given["fit"]:
        with needing("--fit", "fit", "scipy"):
            from engine.histories.fitting import fitted
    with interrupts.unwinding, lines_target(target) as output, scenario_mistakes():
        with waiting(f"Importing {shortened(visible(files[0]))}", hidden=False):
            imported = _imported(next(iter(named), None), files, PoolShape(given["nodes"], given["slots"]), given)
            imported = fitted(imported) if given["fit"] else imported
        print_warnings(imported.warnings)
        output.write(scenario_lines(imported))
        with interrupts.held:
            output.keep()
    return 0


def _recognized(files: tuple[str, ...]) -> Recognized | None:
    """Return what the only file is; None for a history of Azure Batch, or for several files."""
    from engine.histories.kinds import recognized

    if len(files) > 1 or not os.path.isfile(files[0]):  # a pipe can be read only once
        return None
    found = recognized(files[0])
    if found is not None:
        option = f"--{found.kind}" if found.kind in ("swf", "wfformat") else f"--as {found.kind}"
        echo(f"{files[0]}: this is {found.kind.words}, read as with {option}", err=True)
    return found


def _imported(named: str | None, files: tuple[str, ...], shape: PoolShape, given: _GivenToImport) -> Imported:
    """Return what the files hold, which may be ``named``.

    Raises:
        ScenarioError: The files have mistakes.
        click.UsageError: There is more than one file of a kind that is read alone, or an option does not fit the kind.
    """
    from engine.histories import azure, swf, templates, wfformat
    from engine.histories.history import read_history
    from engine.histories.kinds import FileKind, Recognized

    found = None if named == "azure" else Recognized(FileKind(named)) if named else _recognized(files)
    of_template = found is not None and found.kind in (FileKind.ARM, FileKind.TEMPLATE)
    if (given["settings"] or given["parameters"]) and not of_template:
        raise click.UsageError("--set and --parameters are for templates.")
    if found is None:
        return azure.imported(read_history(map(Path, files)), shape)
    if len(files) > 1:
        raise click.UsageError(f"--as {found.kind} takes one FILE at a time.")
    if found.kind in (FileKind.SWF, FileKind.WFFORMAT):
        make = swf.imported if found.kind is FileKind.SWF else wfformat.imported
        return make(files[0], shape)
    return templates.imported(files[0], found, _settings(given["settings"]), given["parameters"])


def _settings(given: tuple[str, ...]) -> dict[str, object]:
    """Return the values of parameters: as JSON where they are JSON, else as text."""
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE.", param_hint="--set")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
