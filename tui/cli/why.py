"""``batchdeck why``: why something of a run waits, fails or goes on, as the key ``w`` of the dashboard explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.base.values import shortened
from tui import interrupts
from tui.cli.analysis import VariantChoice, as_file, variant_options
from tui.cli.arguments import (
    DONE,
    INTERRUPTED,
    complete_scenario,
    echo,
    echo_json,
    load,
    output_option,
    parse_moment,
    print_warnings,
    scenario_mistakes,
    seed_option,
)

if TYPE_CHECKING:
    from engine import Simulation
    from engine.scenario.model import Scenario
    from engine.views.diagnosis.subjects import Answer


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
    from engine.views.diagnosis.subjects import UnknownSubject, answer_about, answers_to_concerns, find_subject

    loaded = variant.of(_scenario(scenario))
    at_ms = None if at is None else parse_moment(at, loaded, "--at")
    simulation = Simulation(loaded, seed=seed, can_go_back=False)
    try:
        _play(simulation, at_ms)
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
        echo(_text(answers))
    return DONE


def _text(answers: list[Answer]) -> str:
    from engine.views.diagnosis.concerns import CALM

    return "\n\n".join("\n".join(answer.lines()) for answer in answers) or CALM


def _play(simulation: Simulation, at_ms: int | None) -> None:
    """Play a run to a moment, or to its end."""
    from tui.cli.replay import RunProgress, replay

    with interrupts.unwinding, RunProgress(hidden=False) as progress:
        replay(simulation, None, progress, at_ms)


def _scenario(given: str) -> Scenario:
    """Return a scenario, or that of a history. Exits with status 2 if it is not valid."""
    from engine import load_scenario
    from engine.studies.sides import read_side

    with as_file(given) as name, scenario_mistakes(quiet=True):
        side = read_side(name)
        if side is None:
            return load(name, quiet=True)
        if not side.is_observed:
            raise click.UsageError(f"{shortened(given)} is a file of results: give the scenario itself.")
        from pathlib import Path

        from engine.histories import azure
        from engine.histories.files import scenario_lines
        from engine.histories.history import read_history

        imported = azure.imported(read_history([Path(name)]))
        print_warnings(imported.warnings)
        return load_scenario(given, text="\n".join(scenario_lines(imported)) + "\n")
