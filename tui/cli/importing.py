"""The command ``import``: what really happened, written as a scenario."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from tui.cli.arguments import check_apart, print_warnings, scenario_mistakes

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.histories.imported import Imported, PoolShape
    from engine.histories.kinds import FileKind

_MOST_SLOTS = 256  # of a node of any size (ACC-5)
_MOST_NODES = 100_000


class _Given(TypedDict):
    """The options as they were given to ``import``."""

    swf: bool
    wfformat: bool
    nodes: int | None
    slots: int | None
    fit: bool
    target: str


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--swf", is_flag=True, help="FILE is a log of a cluster in the Standard Workload Format.")
@click.option("--wfformat", is_flag=True, help="FILE is a workflow in the WfFormat of WfCommons, 1.4 or 1.5.")
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
def import_history(files: tuple[str, ...], **given: Unpack[_Given]) -> int:
    """Write a scenario of what really happened, as FILE... has it.

    JSON of Azure Batch, as `az batch ... show` and `list` print it, becomes the pools and jobs that it tells of, in
    which everything happens when it really did: pools, jobs, tasks, nodes, and the preparation and release status of
    jobs, in any number of files or folders.

    A log in the Standard Workload Format, plain or packed with gzip, becomes a job to which each line adds a task
    when it was submitted. A workflow becomes a job of tasks with dependencies and files.

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
    """
    from engine.histories.imported import PoolShape
    from engine.histories.writing import scenario_lines
    from tui.cli.progress import ImportProgress
    from tui.saving.targets import lines_target

    if given["swf"] and given["wfformat"]:
        raise click.UsageError("--swf and --wfformat exclude each other.")
    check_apart(files, {"--output": given["target"]})
    shape = PoolShape(given["nodes"], given["slots"])
    fitted = _fitting() if given["fit"] else None
    with lines_target(given["target"]) as target, scenario_mistakes():
        imported = _imported(_kind(files, given), files, shape)
        imported = imported if fitted is None else fitted(imported)
        print_warnings(imported.warnings)
        with ImportProgress(hidden=False) as progress:
            target.write(progress.counted(scenario_lines(imported)))
        target.keep()
    return 0


def _fitting() -> Callable[[Imported], Imported]:
    """Return the function that fits distributions.

    Raises:
        click.UsageError: The extra ``fit`` is not installed.
    """
    try:
        from engine.histories.fitting import fitted
    except ModuleNotFoundError:
        raise click.UsageError("--fit needs scipy, which is not installed: pip install 'batchdeck[fit]'") from None
    return fitted


def _kind(files: tuple[str, ...], given: _Given) -> FileKind | None:
    """Return the kind that an option names or that the only file tells; None is a history of Azure Batch."""
    from engine.histories.kinds import FileKind, kind_of

    if given["swf"] or given["wfformat"]:
        return FileKind.SWF if given["swf"] else FileKind.WFFORMAT
    if len(files) > 1 or not os.path.isfile(files[0]):  # a pipe can be read only once
        return None
    kind = kind_of(files[0])
    if kind is not None:
        option, words = kind.value
        click.echo(f"{files[0]}: this is {words}, read as with {option}", err=True)
    return kind


def _imported(kind: FileKind | None, files: tuple[str, ...], shape: PoolShape) -> Imported:
    """Return what the files hold.

    Raises:
        ScenarioError: The files have mistakes.
        click.UsageError: There is more than one file of a kind that is read alone.
    """
    from engine.histories import azure, swf, wfformat
    from engine.histories.history import read_history
    from engine.histories.kinds import FileKind

    if kind is None:
        return azure.imported(read_history(map(Path, files)), shape)
    if len(files) > 1:
        raise click.UsageError(f"{kind.value[0]} takes one FILE at a time.")
    make = swf.imported if kind is FileKind.SWF else wfformat.imported
    return make(files[0], shape)
