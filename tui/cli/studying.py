"""Conducting a study: workers play the runs that are not in the file of results yet, and the outcome is printed."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from engine.studies.outcome import as_json, summarize
from engine.studies.runs import Run, Variants
from tui import interrupts
from tui.cli.arguments import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG,
    echo,
    echo_json,
    echo_styled,
    needing,
    scenario_mistakes,
)
from tui.cli.replay import StudyProgress
from tui.cli.tables import csv_text, study_text
from tui.saving.console import console
from tui.saving.targets import FileLines
from tui.workers.local import LocalWorkers, processors
from tui.workers.runs import NoResults, ResultsFile, Workers, WorkersLost, results_of

if TYPE_CHECKING:
    from engine.scenario.model import Scenario
    from engine.specs.prices import PriceFile
    from engine.studies.outcome import StudySummary
    from engine.studies.runs import Result, Study


class StudyOptions(TypedDict):
    """The options as they were given to ``study``."""

    vary: tuple[str, ...]
    seeds: str | None
    workers: int | None
    dask: str | None
    confidence: float
    results: str | None
    output: str
    plot: str | None
    prices: PriceFile | None
    lists: bool
    quiet: bool
    yes: bool


def conduct(scenario: Scenario, study: Study, options: StudyOptions) -> int:
    """Play a study, print its outcome and return the exit status."""
    with ExitStack() as stack:
        stack.enter_context(interrupts.unwinding)
        file = None if options["results"] is None else stack.enter_context(_results(options["results"], study))
        played = {} if file is None else dict(file.results)
        before = len(played)
        missing = [run for run in study.runs() if run not in played]
        with interrupts.held:
            workers = stack.enter_context(_workers(study, options, len(missing))) if missing else None
        with scenario_mistakes(quiet=True):
            Variants(study).check()  # while the workers begin
        plot = None if options["plot"] is None else stack.enter_context(FileLines(Path(options["plot"])))
        if file is not None and missing:
            file.open()
        try:
            if workers is not None:
                # Between two batches: then what was played, kept and counted is the same.
                with StudyProgress(len(missing), hidden=options["quiet"]) as progress, interrupts.held:
                    for results in results_of(study, missing, workers, file):
                        played |= {Run(result["variant"], result["seed"]): result for result in results}
                        progress.update(len(played) - before)
                        interrupts.check()
        except KeyboardInterrupt:
            echo(f"\nInterrupted after {_how_far(study, played)}; {_kept(options)}.", err=True)
            return INTERRUPTED
        except WorkersLost as error:
            echo(f"Error: {error}, after {_how_far(study, played)}; {_kept(options)}.", err=True)
            return FAILED
        outcomes = [played[run] for run in study.runs()]
        confidence, currency = options["confidence"], scenario.currency
        summary = summarize(study, scenario.name, outcomes, confidence=confidence, currency=currency)
        if plot is not None:
            from tui.cli.study_plot import drawn

            plot.write_bytes([drawn(summary, plot.path.suffix.lower().removeprefix("."))])
            with interrupts.held:
                plot.keep()
    _print(scenario, study, summary, outcomes, options)
    is_unmet = summary.has_expectations and summary.recommended is None
    return FAILED if summary.errors or is_unmet else DONE


def _results(file: str, study: Study) -> ResultsFile:
    try:
        return ResultsFile(Path(file), study)
    except NoResults as error:
        echo(str(error), err=True)
        raise click.exceptions.Exit(WRONG) from None


def _workers(study: Study, options: StudyOptions, runs: int) -> AbstractContextManager[Workers]:
    """Return the workers of a study, which begin at once.

    Raises:
        click.UsageError: There is no Dask cluster at the address, or the extra ``dask`` is not installed.
    """
    if options["dask"] is None:
        return LocalWorkers(study, min(options["workers"] or processors(), runs))
    with needing("--dask", "dask"):
        from tui.workers.dask import ClusterUnreachable, DaskWorkers
    try:
        return DaskWorkers(study, options["dask"])
    except ClusterUnreachable as error:
        raise click.BadParameter(str(error), param_hint="--dask") from None


def _how_far(study: Study, played: dict[Run, Result]) -> str:
    done = sum(run in played for run in study.runs())
    return f"{done:,} of {study.variants * len(study.seeds):,} runs"


def _kept(options: StudyOptions) -> str:
    if options["results"] is None:
        return "nothing was kept; --results FILE keeps what is done"
    return f"they are in {Path(options['results'])}, and the same command goes on"


def _print(
    scenario: Scenario, study: Study, summary: StudySummary, results: list[Result], options: StudyOptions
) -> None:
    if options["output"] == "json":
        echo_json(as_json(summary))
    elif options["output"] == "csv":
        echo(csv_text(study, results, scenario.currency), nl=False)
    elif not options["quiet"]:
        echo_styled(study_text(summary, scenario.study.shown, console(to_stderr=False)))
    failed = [] if options["quiet"] else [result for result in results if result["error"] is not None]
    for result in failed[:10]:
        echo(f"variant {result['variant']}, seed {result['seed']} failed: {result['error']}", err=True)
    if len(failed) > 10:
        echo(f"{len(failed) - 10:,} more runs failed", err=True)
