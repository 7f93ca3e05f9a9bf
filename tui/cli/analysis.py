"""The commands ``study``, ``compare`` and ``import``: their options, and messages about wrong ones.

``study`` runs variants of a scenario; ``--variant`` of ``run`` and ``open`` chooses one of them. ``compare`` shows
two runs side by side, or a prediction and the history of a real system. ``import`` writes such a history as a
scenario.

The command line loads this module at every start, so the work itself is imported by the command that needs it.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from engine.base.values import shortened
from tui import interrupts
from tui.cli.arguments import (
    WRONG,
    check_apart,
    complete_scenario,
    echo,
    echo_json,
    echo_styled,
    is_json,
    load,
    needing,
    output_option,
    prices_option,
    print_warnings,
    scenario_mistakes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine.base.errors import Problem
    from engine.histories.files import FileKind, Imported, PoolShape
    from engine.scenario.model import Scenario
    from engine.specs.prices import PriceFile
    from engine.studies.runs import Study
    from engine.studies.sides import Side
    from tui.cli.studying import StudyOptions


RUN_LIMIT = 100_000
"""More runs than these need ``--yes``."""

_VARY = click.option(
    "--vary", multiple=True, metavar="PATH=VALUES", help="Vary a value of the scenario: 1,2,4 or 10..80:10."
)


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """The options ``--vary`` and ``--variant`` of a command that plays one run."""

    vary: tuple[str, ...]
    number: int | None

    @property
    def is_made(self) -> bool:
        """True if any of the options was given."""
        return bool(self.vary) or self.number is not None

    def of(self, scenario: Scenario) -> Scenario:
        """Return the chosen variant, the scenario itself without the options.

        Raises:
            click.UsageError: There is no such variant, or it is not clear which one is meant.
        """
        if not self.is_made:
            return scenario
        from engine.studies.runs import Variants

        study = _planned(scenario, self.vary, None)
        if self.number is None and study.variants > 1:
            raise click.UsageError(f"--vary makes {study.variants:,} variants: choose one with --variant N.")
        if self.number is not None and self.number > study.variants:
            gone = f"there is no variant {self.number:,}, the last is {study.variants:,}: see `batchdeck study --list`."
            raise click.BadParameter(gone, param_hint="--variant")
        with scenario_mistakes(quiet=True):
            return Variants(study).chosen(self.number or 1, scenario)


def variant_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that choose a variant of a study; it gets them as one ``variant``."""

    @wraps(command)
    def choosing(*, vary: tuple[str, ...], variant: int | None, **given: object) -> int:
        return command(variant=VariantChoice(vary, variant), **given)

    number = click.option("--variant", type=click.IntRange(1), metavar="N", help="Play variant N of the study.")
    return number(_VARY(choosing))


def check_study(scenario: Scenario) -> None:
    """Check the study of a scenario: each value of each factor, but not every combination of them.

    Raises:
        ScenarioError: A value has a mistake.
    """
    from engine.studies.runs import Variants, planned

    Variants(planned(scenario)).check(each_value_once=True)


def _planned(scenario: Scenario, vary: Sequence[str], seeds: str | None) -> Study:
    """Return the study of a scenario; print the mistakes of all options and exit with status 2 if there are any."""
    from engine import ScenarioError
    from engine.studies.runs import installed_version, planned

    try:
        return planned(scenario, vary, seeds=seeds, version=installed_version())
    except ScenarioError as error:
        print_warnings(error.problems)
        raise click.exceptions.Exit(WRONG) from None


@click.command()
@click.argument("scenario", shell_complete=complete_scenario)
@_VARY
@click.option("--seeds", metavar="N | A..B", help="Play each variant with the seeds 1 to N, or A to B.  [default: 20]")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Use N processes.  [default: one per processor]")
@click.option("--dask", metavar="ADDRESS", help="Use the workers of a Dask cluster: tcp://127.0.0.1:8786.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    metavar="P",
    help="The share of runs in which a variant has to keep all expectations.",
)
@click.option("--results", metavar="FILE", help="Collect results in FILE, and go on where it ends.")
@output_option("table", "json", "csv", about="How to show the result; csv has a line for each run.")
@click.option("--plot", metavar="FILE", help="Draw end against cost into FILE, which ends in .svg or .png.")
@prices_option
@click.option("--list", "lists", is_flag=True, help="Only list the variants with their numbers.")
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress and no warnings, only the exit status.")
@click.option("--yes", is_flag=True, help=f"Do not refuse more than {RUN_LIMIT:,} runs.")
def study(scenario: str, **given: Unpack[StudyOptions]) -> int:
    """Run SCENARIO many times, with other values and seeds, and say which variant to take.

    Every combination of the values of --vary, and of `study: {vary: ...}` in the file, is a variant. A path names
    pools, jobs and job schedules by their ids and other lists by number, from 0; null takes an entry away. What the
    scenario expects is what a variant has to achieve: the cheapest one that keeps all expectations often enough is
    recommended.

    All variants are played with the same seeds, so that differences between them are not chance. Results depend on
    scenario, variant and seed alone, not on the workers. `batchdeck run SCENARIO --variant 17 --seed 4` plays one run.

    \b
    Examples:
      batchdeck study night.yaml
      batchdeck study night.yaml --vary pools.render.targetDedicatedNodes=10..80:10 --seeds 20
      batchdeck study night.yaml --results night.jsonl --plot night.svg
      batchdeck study night.yaml --vary pools.render.vmSize=standard_d2s_v3,standard_f4s_v2 --list

    \b
    Exit status:
      0  complete; a variant is recommended, if the scenario expects anything
      1  a run failed, or no variant keeps the expectations often enough
      2  the scenario, an option or the file of results is wrong; nothing was run
      130  interrupted; what is in the file of results stays
    """
    if given["workers"] is not None and given["dask"] is not None:
        raise click.UsageError("--workers and --dask exclude each other.")
    _check_plot(given["plot"])
    loaded = load(scenario, quiet=True, prices=given["prices"])
    planned = _planned(loaded, given["vary"], given["seeds"])
    if not given["quiet"]:
        print_warnings(loaded.warnings)
    if given["lists"]:
        from tui.cli.tables import list_lines

        for line in list_lines(planned):
            echo(line)
        return 0
    runs = planned.variants * len(planned.seeds)
    if runs > RUN_LIMIT and not given["yes"]:
        raise click.UsageError(f"{planned.variants:,} variants make {runs:,} runs; --yes plays so many.")
    from tui.cli.studying import conduct

    return conduct(loaded, planned, given)


def _check_plot(name: str | None) -> None:
    """Check the file of the plot.

    Raises:
        click.UsageError: It is of another kind, or the extra ``plot`` is not installed.
    """
    if name is None:
        return
    if Path(name).suffix.lower() not in (".svg", ".png"):
        raise click.BadParameter("must end in .svg or .png.", param_hint="--plot")
    with needing("--plot", "plot"):
        import matplotlib  # noqa: F401 - it is needed when all has been played


@click.command()
@click.argument("a", metavar="A", shell_complete=complete_scenario)
@click.argument("b", metavar="B", shell_complete=complete_scenario)
@output_option("table", "json")
@prices_option
@click.option("--quiet", "-q", is_flag=True, help="No progress bar, no warnings and no notes beside the result.")
def compare(a: str, b: str, output: str, prices: PriceFile | None, quiet: bool) -> int:
    """Compare A and B: ends, cost, node hours, waiting and running times, preparation and failures.

    A and B each are a scenario (a file or the name of a bundled one), which is played with its seed; a file of results
    that `run --output json` has written; or a history, a folder or one file with what `az batch ... show` and `list`
    have printed. The difference is B minus A, percent are of A.

    With a history on one side, the other one is the prediction, and its three largest errors are named.

    \b
    Examples:
      batchdeck compare spot-or-dedicated nodes-for-a-deadline
      batchdeck compare before.json after.json --output json
      batchdeck compare shot-0412.yaml shot-0412/          predicted against observed
    """
    from engine.studies.measures import as_json, compared
    from tui.cli.tables import comparison_text
    from tui.saving.console import console

    with interrupts.unwinding, scenario_mistakes(quiet=quiet):
        sides = _sides((a, b), prices, quiet=quiet)
    rows = compared(sides[0].figures, sides[1].figures)
    if output == "json":
        echo_json(as_json(a, b, rows))
    else:
        echo_styled(comparison_text(*sides, rows, console(to_stderr=False)))
    if not quiet:
        for letter, side in zip("AB", sides, strict=True):
            print_warnings(side.warnings)
            for note in side.notes if output == "json" else ():
                echo(f"{letter}: {note}", err=True)
    return 0


def _sides(given: tuple[str, str], prices: PriceFile | None, *, quiet: bool) -> tuple[Side, Side]:
    """Return both sides; everything is read before the first scenario is played.

    Raises:
        ScenarioError: A file has mistakes; those of both sides are listed.
    """
    from engine import ScenarioError
    from tui.cli.replay import waiting

    found: list[Side | Scenario] = []
    problems: list[Problem] = []
    for one in dict.fromkeys(given):
        try:
            with waiting(f"Reading {shortened(one)}", hidden=quiet):
                found.append(_read(one, prices))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    pairs = zip(given, found, strict=False)
    sides = [side if isinstance(side, tuple) else _played(one, side, quiet=quiet) for one, side in pairs]
    return sides[0], sides[-1]


def _read(given: str, prices: PriceFile | None) -> Side | Scenario:
    from engine import load_scenario
    from engine.studies.sides import read_side

    with as_file(given) as name:
        side = read_side(name, prices)
        return load_scenario(name, prices=prices) if side is None else side._replace(given=given)


_PIECE = 1 << 20
_MOST_COPIED = 1 << 29  # bytes that come through a pipe


@contextmanager
def as_file(given: str) -> Iterator[str]:
    """Copy what comes through a pipe into a file: a side is looked at before it is read."""
    if not os.path.exists(given) or os.path.isfile(given) or os.path.isdir(given):
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(given))
        try:
            with open(given, "rb") as source, open(copy, "wb") as target:
                while (content := source.read(_PIECE)) and target.tell() <= _MOST_COPIED:
                    target.write(content)
        except OSError as error:
            raise click.UsageError(f"{shortened(given)} cannot be read: {error.strerror}") from None
        if content:
            raise click.UsageError(f"{shortened(given)} has more than {_MOST_COPIED >> 20:,} MB.")
        yield copy


def _played(given: str, scenario: Scenario, *, quiet: bool) -> Side:
    """Play a scenario to its end with its seed."""
    from engine import Simulation
    from engine.studies.sides import side_of_run
    from tui.cli.replay import RunProgress, replay

    if not quiet:
        print_warnings(scenario.warnings)
    simulation = Simulation(scenario, can_go_back=False)
    with RunProgress(hidden=quiet) as progress:
        replay(simulation, None, progress)
    return side_of_run(given, simulation)


_MOST_SLOTS = 256  # of a node of any size (ACC-5)
_MOST_NODES = 100_000


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
def import_history(
    files: tuple[str, ...], swf: bool, wfformat: bool, nodes: int | None, slots: int | None, fit: bool, target: str
) -> int:
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
    from engine.histories.files import FileKind, PoolShape, scenario_lines
    from tui.cli.replay import ImportProgress
    from tui.saving.targets import lines_target

    if swf and wfformat:
        raise click.UsageError("--swf and --wfformat exclude each other.")
    check_apart(files, {"--output": target})
    folder = os.path.dirname(target or "") or os.curdir
    if target and is_json(target) and any(os.path.isdir(name) and os.path.samefile(folder, name) for name in files):
        echo(f"{target}: warning: will be read as an export with this folder the next time: name it .yaml", err=True)
    fitted = _fitting() if fit else None
    with interrupts.unwinding, lines_target(target) as output, scenario_mistakes():
        kind = FileKind.SWF if swf else FileKind.WFFORMAT if wfformat else _kind(files)
        imported = _imported(kind, files, PoolShape(nodes, slots))
        imported = imported if fitted is None else fitted(imported)
        print_warnings(imported.warnings)
        with ImportProgress(hidden=False) as progress:
            output.write(progress.counted(scenario_lines(imported)))
        with interrupts.held:
            output.keep()
    return 0


def _fitting() -> Callable[[Imported], Imported]:
    """Return the function that fits distributions.

    Raises:
        click.UsageError: The extra ``fit`` is not installed.
    """
    with needing("--fit", "fit", "scipy"):
        from engine.histories.fitting import fitted
    return fitted


def _kind(files: tuple[str, ...]) -> FileKind | None:
    """Return the kind of the only file; None for a history of Azure Batch, or for several files."""
    from engine.histories.files import kind_of

    if len(files) > 1 or not os.path.isfile(files[0]):  # a pipe can be read only once
        return None
    kind = kind_of(files[0])
    if kind is not None:
        option, words = kind.value
        echo(f"{files[0]}: this is {words}, read as with {option}", err=True)
    return kind


def _imported(kind: FileKind | None, files: tuple[str, ...], shape: PoolShape) -> Imported:
    """Return what the files hold.

    Raises:
        ScenarioError: The files have mistakes.
        click.UsageError: There is more than one file of a kind that is read alone.
    """
    from engine.histories import azure, swf, wfformat
    from engine.histories.files import FileKind
    from engine.histories.history import read_history

    if kind is None:
        return azure.imported(read_history(map(Path, files)), shape)
    if len(files) > 1:
        raise click.UsageError(f"{kind.value[0]} takes one FILE at a time.")
    make = swf.imported if kind is FileKind.SWF else wfformat.imported
    return make(files[0], shape)
