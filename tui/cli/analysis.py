"""The commands ``study``, ``test``, ``compare`` and ``why``: their options, and messages about wrong ones.

``study`` runs variants of a scenario; ``--variant`` of ``run`` and ``open`` chooses one of them. ``test`` says which of
many scenarios keep what they expect. ``compare`` shows two runs side by side, or a prediction and the history of a real
system. ``why`` explains why something of a run or of such a history waits, fails or goes on, as the key ``w`` of the
dashboard does.

The command line loads this module at every start, so the work itself is imported by the command that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from engine.base.values import shortened
from tui import interrupts
from tui.cli.arguments import (
    DONE,
    INTERRUPTED,
    WRONG,
    complete_scenario,
    echo,
    echo_json,
    echo_styled,
    load,
    needing,
    output_option,
    parse_moment,
    prices_option,
    print_warnings,
    scenario_mistakes,
    seed_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.base.errors import Problem
    from engine.scenario.model import Scenario
    from engine.specs.prices import PriceFile
    from engine.studies.runs import Study
    from engine.studies.sides import Side
    from tui.cli.studying import StudyOptions
    from tui.cli.testing import SuiteOptions


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
@click.option("--search", is_flag=True, help="Play only the runs that it takes to find the variant to recommend.")
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
      batchdeck study night.yaml --vary pools.render.targetDedicatedNodes=1..60 --search
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
        from engine.scenario.record import values_text

        cells = len(str(planned.variants))
        for variant in range(1, planned.variants + 1):
            echo(f"{variant:<{cells}}  {values_text(planned.values(variant))}".rstrip())
        return 0
    if given["search"] and not loaded.expect:
        said = "the scenario expects nothing, so there is no variant to search for: add `expect`, or leave it out."
        raise click.BadParameter(said, param_hint="--search")
    from engine.studies.search import most_runs

    runs = most_runs(planned, given["confidence"] if given["search"] else None)
    if runs > RUN_LIMIT and not given["yes"]:
        raise click.UsageError(f"{planned.variants:,} variants make {runs:,} runs; --yes plays so many.")
    from tui.cli.studying import conduct

    return conduct(loaded, planned, given)


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("-k", "text", metavar="TEXT", help="Only scenarios whose path or name contains TEXT.")
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="Play each scenario with the seeds 1 to N.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Use N processes.  [default: one per processor]")
@click.option("--junit", metavar="FILE", help="Write a report as JUnit XML; - is stdout, in place of the result.")
@output_option("table", "json", "github", about="How to show the result; github marks the lines of failures.")
@click.option("--strict", is_flag=True, help="Treat warnings as mistakes: such a scenario is not played.")
@prices_option
@click.option("--quiet", "-q", is_flag=True, help="No table of scenarios, progress or warnings: only what fails.")
def play_tests(paths: tuple[str, ...], **given: Unpack[SuiteOptions]) -> int:
    """Play scenarios and check that each keeps what it expects, as a test in a CI.

    PATH is a scenario, or a folder in which all *.yaml, *.yml and *.json with a top-level key `scenario` are played;
    without one the present folder is searched. Hidden folders, virtual environments, node_modules and links to folders
    are passed over. Each entry of `expect` is a case, and one more says that no command was refused unexpectedly.

    With --seeds a case holds if it holds with each seed, and the first seed that breaks it is named.

    \b
    Examples:
      batchdeck test
      batchdeck test scenarios/ -k night --seeds 20
      batchdeck test scenarios/ --junit report.xml --strict
      batchdeck test --output github                 in a workflow of GitHub

    \b
    Exit status:
      0  every case holds
      1  a case does not hold
      2  a scenario or an option is wrong; the other scenarios were played
      5  no scenario was found
      130  interrupted
    """
    from tui.cli.testing import conduct

    return conduct(paths, given)


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
    from tui.cli.output import comparison_text
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
    from engine import ScenarioError, load_scenario
    from engine.studies.sides import read_side
    from tui.cli.replay import waiting

    found: list[Side | Scenario] = []
    problems: list[Problem] = []
    for one in dict.fromkeys(given):
        try:
            with waiting(f"Reading {shortened(one)}", hidden=quiet):
                found.append(read_side(one, prices) or load_scenario(one, prices=prices))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    pairs = zip(given, found, strict=False)
    sides = [side if isinstance(side, tuple) else _played(one, side, quiet=quiet) for one, side in pairs]
    return sides[0], sides[-1]


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


@click.command()
@click.argument("scenario", shell_complete=complete_scenario)
@click.argument("subject", required=False)
@click.option(
    "--at", metavar="TIME", help="Ask at a moment, such as PT5M, 5m, 10:42 or a UTC time.  [default: the end]"
)
@seed_option
@variant_options
@output_option("text", "json", about="How to show the answer.")
def why(
    scenario: str, subject: str | None, at: str | None, seed: int | None, variant: VariantChoice, output: str
) -> int:
    """Explain why something of SCENARIO waits, fails or goes on, at the end of its run or at a time.

    SCENARIO is a file, the name of a bundled scenario, or a history: a folder or file with what `az batch` has printed,
    of which the replay is explained. Without SUBJECT, everything that needs attention is explained.

    \b
    SUBJECT:
      job:ID                task:JOB/TASK        pool:ID
      node:POOL/3           preparation:JOB/3    release:JOB/3    (3: the index of the node)
      schedule:ID           an id alone, if only one thing has it

    \b
    Examples:
      batchdeck why my.yaml
      batchdeck why my.yaml task:risk/deal-7
      batchdeck why my.yaml node:shared/3 --at PT20M
      batchdeck why history/ job:risk --output json
    """
    from engine import Simulation
    from engine.views.diagnosis.concerns import CALM
    from engine.views.diagnosis.subjects import UnknownSubject, answer_about, answers_to_concerns, find_subject
    from tui.cli.replay import RunProgress, replay

    loaded = variant.of(_scenario(scenario))
    at_ms = None if at is None else parse_moment(at, loaded, "--at")
    simulation = Simulation(loaded, seed=seed, can_go_back=False)
    try:
        with interrupts.unwinding, RunProgress(hidden=False) as progress:
            replay(simulation, None, progress, at_ms)
        if subject is None:
            answers = answers_to_concerns(simulation)
        else:
            answers = [answer_about(simulation, find_subject(simulation, subject))]
    except UnknownSubject as error:
        raise click.BadParameter(f"{error}.", param_hint="SUBJECT") from None
    except KeyboardInterrupt:
        echo("\nInterrupted.", err=True)
        return INTERRUPTED
    if output == "json":
        found = [answer.as_json() for answer in answers]
        echo_json(found if subject is None else found[0])
    else:
        echo("\n\n".join("\n".join(answer.lines()) for answer in answers) or CALM)
    return DONE


def _scenario(given: str) -> Scenario:
    """Return a scenario, or that of a history. Exits with status 2 if it is not valid."""
    from engine import load_scenario
    from engine.histories.history import History
    from engine.studies.sides import recognized

    with scenario_mistakes(quiet=True):
        found = recognized(given)
        if found is None:
            return load(given, quiet=True)
        if not isinstance(found, History):
            raise click.UsageError(f"{shortened(given)} is a file of results: give the scenario itself.")
        from engine.histories import azure
        from engine.histories.files import scenario_lines

        imported = azure.imported(found)
        print_warnings(imported.warnings)
        return load_scenario(given, text="\n".join(scenario_lines(imported)) + "\n")
