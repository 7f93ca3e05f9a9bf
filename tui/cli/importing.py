"""The command ``import``: what really happened, written as a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from tui.cli.arguments import print_warnings, scenario_mistakes

if TYPE_CHECKING:
    from engine.histories.imported import Imported, PoolShape

SWF, WFFORMAT, AZURE = "swf", "wfformat", "azure"


class _Given(TypedDict):
    """The options as they were given to ``import``."""

    swf: bool
    wfformat: bool
    nodes: int | None
    slots: int | None
    fit: bool
    target: str


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--swf", is_flag=True, help="FILE is the log of a cluster in the Standard Workload Format.")
@click.option("--wfformat", is_flag=True, help="FILE is a workflow in the WfFormat of WfCommons.")
@click.option("--nodes", type=click.IntRange(1), metavar="N", help="Give the pool N nodes.")
@click.option("--slots", type=click.IntRange(1, 256), metavar="N", help="Give each node N task slots.")
@click.option("--fit", is_flag=True, help="Replace single durations by the distribution that fits best.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    default="-",
    help="Write the scenario to FILE.  [default: stdout]",
)
def import_history(files: tuple[str, ...], **given: Unpack[_Given]) -> int:
    """Write a scenario of what really happened, as the files FILE... tell it.

    Each assumption that had to be made is a comment line of the scenario.

    \b
    Examples:
      batchdeck import --swf NASA-iPSC-1993-3.1-cln.swf.gz --nodes 128 > nasa.yaml
      batchdeck import --wfformat montage.json -o montage.yaml
    """
    from engine.histories.imported import PoolShape
    from engine.histories.writing import scenario_lines
    from tui.saving.targets import lines_target

    if given["swf"] and given["wfformat"]:
        raise click.UsageError("--swf and --wfformat exclude each other.")
    shape = PoolShape(given["nodes"], given["slots"])
    kind = SWF if given["swf"] else WFFORMAT if given["wfformat"] else AZURE
    with scenario_mistakes():
        imported = _imported(kind, files, shape)
    print_warnings(imported.warnings)
    with lines_target(given["target"]) as target:
        target.write(scenario_lines(imported))
        target.keep()
    return 0


def _imported(kind: str, files: tuple[str, ...], shape: PoolShape) -> Imported:
    """Return what the files hold.

    Raises:
        ScenarioError: The files have mistakes.
        click.UsageError: This kind cannot be imported.
    """
    from engine.histories import swf

    if kind == SWF:
        if len(files) > 1:
            raise click.UsageError("--swf takes one log at a time.")
        return swf.imported(files[0], shape)
    raise click.UsageError(f"files of the kind {kind} cannot be imported yet.")
