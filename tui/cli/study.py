"""The command ``study``: its options, and what it says when they are wrong; ``--variant`` of ``run`` and ``open``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from tui.cli.arguments import WRONG, complete_scenario, load, print_warnings, scenario_mistakes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.scenario.model import Scenario
    from engine.studies.plan import Study

RUN_LIMIT = 100_000
"""More runs than these need ``--yes``."""

_VARY = click.option(
    "--vary", multiple=True, metavar="PATH=VALUES", help="Vary a value of the scenario: 1,2,4 or 10..80:10."
)


class _Given(TypedDict):
    """The options as they were given to ``study``."""

    vary: tuple[str, ...]
    seeds: str | None
    workers: int | None
    dask: str | None
    confidence: float
    results: str | None
    output: str
    plot: str | None
    lists: bool
    quiet: bool
    yes: bool


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
        from engine.studies.variants import Variants

        study = _planned(scenario, self.vary, None)
        if self.number is None and study.variants > 1:
            raise click.UsageError(f"--vary makes {study.variants:,} variants: choose one with --variant N.")
        if self.number is not None and self.number > study.variants:
            raise click.BadParameter(
                f"there is no variant {self.number:,}, the last is {study.variants:,}: see `batchdeck study --list`.",
                param_hint="--variant",
            )
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
    from engine.studies.plan import planned
    from engine.studies.variants import Variants

    Variants(planned(scenario)).check(each_value_once=True)


def _planned(scenario: Scenario, vary: Sequence[str], seeds: str | None) -> Study:
    """Return the study of a scenario; print the mistakes of all options and exit with status 2 if there are any."""
    from engine.base.errors import Problem, ScenarioError
    from engine.base.shortening import shortened
    from engine.scenario.factors import FactorMistake
    from engine.scenario.study import parse_seeds
    from engine.studies.plan import installed_version, planned

    problems: list[Problem] = []
    chosen = None
    try:
        chosen = None if seeds is None else parse_seeds(seeds)
    except FactorMistake as mistake:
        problems.append(Problem(str(mistake), f"--seeds {shortened(seeds or '')}"))
    study = None
    try:
        study = planned(scenario, vary, seeds=chosen, version=installed_version())
    except ScenarioError as error:
        problems += error.problems
    for problem in problems:
        click.echo(str(problem), err=True)
    if problems or study is None:
        raise click.exceptions.Exit(WRONG)
    return study


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
@click.option(
    "--output",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to show the result; csv has a line for each run.",
)
@click.option("--plot", metavar="FILE", help="Draw end against cost into FILE, which ends in .svg or .png.")
@click.option("--list", "lists", is_flag=True, help="Only list the variants with their numbers.")
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress and no warnings, only the exit status.")
@click.option("--yes", is_flag=True, help=f"Do not refuse more than {RUN_LIMIT:,} runs.")
def study(scenario: str, **given: Unpack[_Given]) -> int:
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
    plot = _plot_file(given["plot"])
    loaded = load(scenario, quiet=True)
    planned = _planned(loaded, given["vary"], given["seeds"])
    if not given["quiet"]:
        print_warnings(loaded.warnings)
    if given["lists"]:
        from tui.cli.study_output import list_lines

        for line in list_lines(planned):
            click.echo(line)
        return 0
    runs = planned.variants * len(planned.seeds)
    if runs > RUN_LIMIT and not given["yes"]:
        raise click.UsageError(f"{planned.variants:,} variants make {runs:,} runs; --yes plays so many.")
    from tui.cli.studying import Options, conduct

    results = None if given["results"] is None else Path(given["results"])
    options = Options(
        workers=given["workers"],
        dask=given["dask"],
        confidence=given["confidence"],
        results=results,
        output=given["output"],
        plot=plot,
        quiet=given["quiet"],
    )
    return conduct(loaded, planned, options)


def _plot_file(name: str | None) -> Path | None:
    """Return the file of the plot.

    Raises:
        click.UsageError: It is of another kind, or the extra ``plot`` is not installed.
    """
    if name is None:
        return None
    path = Path(name)
    if path.suffix.lower() not in (".svg", ".png"):
        raise click.BadParameter("must end in .svg or .png.", param_hint="--plot")
    try:
        import matplotlib  # noqa: F401 - it is needed when all has been played
    except ModuleNotFoundError as error:
        needed = f"--plot needs {error.name}, which is not installed: pip install 'batchdeck[plot]'"
        raise click.UsageError(needed) from None
    return path
