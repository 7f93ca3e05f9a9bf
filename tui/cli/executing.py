"""The options of ``run``, ``open`` and ``serve`` with which command lines really run, and what clients add to them."""

from __future__ import annotations

import getpass
import math
import os
import tempfile
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from tui.cli.arguments import echo, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from engine import Simulation

_SANDBOXES = ("process", "bubblewrap", "container")
_NO_SANDBOX = 1


class ExecutionOptions(TypedDict):
    """The options about execution as they were given."""

    execute: bool
    sandbox: str | None
    image: str | None
    network: bool
    nodes: str | None
    scale: float | None
    record: str | None
    allow_files: tuple[str, ...]
    allow_elevated: bool
    passed: tuple[str, ...]


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
    client_secret: str | None
    proxy: int | None
    storage: str | None
    own_clock: bool
    keep_files: str | None


class ClientsAndPrograms(ClientOptions, ExecutionOptions):
    """The options about clients, and about programs that really run."""


execution_options = together(
    click.option("--execute", is_flag=True, help="Really run every command line that has no `simulate`."),
    click.option(
        "--sandbox", type=click.Choice(_SANDBOXES), help="How it is kept apart.  [default: bubblewrap where it works]"
    ),
    click.option("--image", metavar="NAME", help="The image of every container."),
    click.option("--network", is_flag=True, help="Let programs in a sandbox use the network."),
    click.option("--nodes", metavar="DIR", help="Keep the nodes' folders in DIR.  [default: deleted at the end]"),
    click.option("--scale", type=float, metavar="X", help="Count a real second as X simulated ones.  [default: 1]"),
    click.option("--record", metavar="FILE", help="At the end, write what was seen as a scenario that starts nothing."),
    click.option("--allow-files", metavar="DIR", multiple=True, help="Let file: URLs name files in DIR; repeatable."),
    click.option("--allow-elevated", is_flag=True, help="Let elevated users be administrators of their sandbox."),
    click.option(
        "--pass", "passed", metavar="NAME", multiple=True, help="Pass a variable of this shell on; repeatable."
    ),
)


def check_execution(given: ExecutionOptions) -> None:
    """Check that the options about execution fit each other. Raises click.UsageError."""
    if not given["execute"]:
        named = [name for name in ExecutionOptions.__annotations__ if given.get(name) not in (None, False, ())]
        if named:
            option = "--pass" if named[0] == "passed" else f"--{named[0].replace('_', '-')}"
            raise click.UsageError(f"{option} needs --execute.")
        return
    if given["image"] is not None and given["sandbox"] != "container":
        raise click.UsageError("--image needs --sandbox container.")
    scale = given["scale"]
    if scale is not None and not (0 < scale < math.inf):
        raise click.BadParameter("must be a number above 0.", param_hint="--scale")
    for name in given["passed"]:
        if not name or "=" in name:
            raise click.BadParameter(f"{name!r} is no name: export the variable, and name it.", param_hint="--pass")
    for folder in given["allow_files"]:
        if not Path(folder).is_dir():
            raise click.BadParameter(f"there is no folder {folder}.", param_hint="--allow-files")


@contextmanager
def executing(
    simulation: Simulation,
    given: ExecutionOptions,
    variables: Callable[[str, bool], Mapping[str, str]] | None = None,
    *,
    storage: str | None = None,
    quiet: bool = False,
) -> Iterator[None]:
    """Let programs run for a simulation within the block, if that was asked for; none is left after it.

    ``variables`` are what a task of a job needs to call the service. The recording is written when the block ends
    well. Exits with status 1 if there is no sandbox. Raises TargetError if the folder of nodes cannot be had.
    """
    if not given["execute"]:
        yield
        return
    from engine.base.partial_files import is_locked
    from engine.execution.driver import Execution, Settings, source_of
    from engine.execution.sandboxes import SandboxMissing, sandbox_of
    from engine.rest.session import session_text
    from engine.views.recording import NOT_RECORDED, recorded
    from tui.saving.targets import FileLines, TargetError, reported

    for application in simulation.scenario.account.applications:
        source = source_of(simulation.scenario, application.id)
        if source is not None and not source.exists():
            raise click.UsageError(f"the source of application {application.id} is missing: there is no {source}.")
    with ExitStack() as stack:
        target = None if given["record"] is None else stack.enter_context(FileLines(Path(given["record"])))
        nodes = given["nodes"] or stack.enter_context(tempfile.TemporaryDirectory(prefix="batchdeck-"))
        folder = Path(nodes).resolve()
        with reported(folder, before_run=True):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            held = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, held)
        if is_locked(held):
            raise TargetError(folder, "the programs of another batchdeck run there", before_run=True)
        try:
            sandbox = sandbox_of(
                given["sandbox"], network=given["network"], image=given["image"], elevated=given["allow_elevated"]
            )
        except SandboxMissing as missing:
            echo(f"nothing was run: {missing}", err=True)
            raise click.exceptions.Exit(_NO_SANDBOX) from None
        allowed = tuple(map(Path, given["allow_files"]))
        settings = Settings(folder, given["scale"] or 1.0, given["passed"], allowed, storage)
        settings = settings if variables is None else settings._replace(variables=variables)
        execution = stack.enter_context(closing(Execution(simulation, sandbox, settings)))
        if not quiet:
            echo(f"Command lines run here as {getpass.getuser()}, in {folder}, sandbox {sandbox.name}.", err=True)
            for note in sandbox.notes:
                echo(note, err=True)
        yield
        if execution.elevated and not sandbox.elevates:
            told = f"programs of administrators ran without their rights, such as {execution.elevated}"
            echo(f"warning: {told}: give --allow-elevated, and not --sandbox process", err=True)
        if target is not None:
            is_open = simulation.scenario.until_ms is None  # it ends by itself, and so does its replay
            lines = (recorded if is_open else session_text)(simulation).splitlines()
            target.write(lines)
            target.keep()
            if lines[0].startswith(NOT_RECORDED):
                echo(f"warning: {given['record']}: {lines[0].removeprefix('# ')}", err=True)
            if not quiet:
                echo(f"What was seen is recorded in {given['record']}; `batchdeck run` replays it.", err=True)
