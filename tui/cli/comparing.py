"""The command ``compare``: two runs side by side, or a prediction and what really happened."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from engine.base.shortening import shortened
from tui.cli.arguments import complete_scenario, print_warnings, scenario_mistakes

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    from tui.cli.progress import waiting

    found: list[Side | Scenario] = []
    problems: list[Problem] = []
    for one in dict.fromkeys(given):
        try:
            with waiting(f"Reading {shortened(one)}", hidden=quiet):
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

    with _as_file(given) as name:
        side = read_side(name)
        return load_scenario(name) if side is None else side._replace(given=given)


@contextmanager
def _as_file(given: str) -> Iterator[str]:
    """Copy what comes through a pipe into a file: a side is looked at before it is read."""
    if not os.path.exists(given) or os.path.isfile(given) or os.path.isdir(given):
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(given))
        try:
            with open(given, "rb") as source, open(copy, "wb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise click.UsageError(f"{shortened(given)} cannot be read: {error.strerror}") from None
        yield copy


def _played(given: str, scenario: Scenario, *, quiet: bool) -> Side:
    """Play a scenario to its end with its seed."""
    from engine import Simulation
    from engine.comparison.sides import side_of_run
    from tui.cli.progress import RunProgress
    from tui.cli.replay import replay

    if not quiet:
        print_warnings(scenario.warnings)
    simulation = Simulation(scenario, can_go_back=False)
    with RunProgress(hidden=quiet) as progress:
        replay(simulation, None, progress)
    return side_of_run(given, simulation)
