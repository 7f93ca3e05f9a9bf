"""The command ``compare``: two runs side by side, or a prediction and what really happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from engine.base.shortening import shortened
from tui.cli.arguments import complete_scenario, print_warnings, scenario_mistakes

if TYPE_CHECKING:
    from engine.base.errors import Problem
    from engine.comparison.sides import Side
    from engine.scenario.model import Scenario


@click.command()
@click.argument("a", metavar="A", shell_complete=complete_scenario)
@click.argument("b", metavar="B", shell_complete=complete_scenario)
@click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to show the result."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress bar, no warnings and no notes beside the result.")
def compare(a: str, b: str, output: str, quiet: bool) -> int:
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
    from engine.comparison.rows import as_json, compared
    from tui.cli import output as show
    from tui.cli.comparison_output import comparison_text

    with scenario_mistakes(quiet=quiet):
        sides = _sides((a, b), quiet=quiet)
    rows = compared(sides[0].figures, sides[1].figures)
    if output == "json":
        click.echo(json.dumps(as_json(a, b, rows), indent=2, ensure_ascii=False))
    else:
        click.echo(comparison_text(*sides, rows, show.console(to_stderr=False)))
    if not quiet:
        for letter, side in zip("AB", sides, strict=True):
            print_warnings(side.warnings)
            for note in side.notes if output == "json" else ():
                click.echo(f"{letter}: {note}", err=True)
    return 0


def _sides(given: tuple[str, str], *, quiet: bool) -> tuple[Side, Side]:
    """Return both sides; everything is read before the first scenario is played.

    Raises:
        ScenarioError: A file has mistakes; those of both sides are listed.
    """
    from engine import ScenarioError
    from tui.cli import output as show
    from tui.cli.progress import waiting

    found: list[Side | Scenario] = []
    problems: list[Problem] = []
    for one in dict.fromkeys(given):
        try:
            with waiting(show.console(to_stderr=True), f"Reading {shortened(one)}", hidden=quiet):
                found.append(_read(one))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    sides = [
        side if isinstance(side, tuple) else _played(one, side, quiet=quiet)
        for one, side in zip(given, found, strict=False)
    ]
    return sides[0], sides[-1]


def _read(given: str) -> Side | Scenario:
    from engine import load_scenario
    from engine.comparison.sides import read_side

    return read_side(given) or load_scenario(given)


def _played(given: str, scenario: Scenario, *, quiet: bool) -> Side:
    """Play a scenario to its end with its seed."""
    from engine import Simulation
    from engine.comparison.sides import side_of_run
    from tui.cli import output as show
    from tui.cli.progress import RunProgress
    from tui.cli.replay import replay

    if not quiet:
        print_warnings(scenario.warnings)
    simulation = Simulation(scenario, can_go_back=False)
    with RunProgress(show.console(to_stderr=True), hidden=quiet) as progress:
        replay(simulation, None, progress)
    return side_of_run(given, simulation)
