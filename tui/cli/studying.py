"""Conducting a study: workers play the runs that are not in the file of results yet, and the outcome is printed.

It is a table with a line for each variant, or CSV with a line for each run. A plot shows end against cost of each
variant, with the spread over its seeds and the Pareto line.
"""

from __future__ import annotations

import csv
import io
import json
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click
from rich.text import Text

from engine.base.values import USD, shortened, visible
from engine.scenario.model import MEASURES
from engine.scenario.record import flow_text
from engine.studies.measures import DONE_COST, measures_of
from engine.studies.outcome import (
    amount_of,
    as_json,
    deadline_s,
    end_text,
    heading,
    interval_text,
    percent,
    recommendation,
    short_names,
    shown_measures,
    spread_of,
    summarize,
    text_of,
    time_step_s,
)
from engine.studies.runs import Run, Variants
from engine.studies.search import most_runs, rounds
from tui import interrupts
from tui.cli.arguments import DONE, FAILED, INTERRUPTED, WRONG, echo, echo_json, echo_styled, needing, scenario_mistakes
from tui.cli.output import parts_text, plain_text, table
from tui.cli.replay import StudyProgress
from tui.saving.console import console
from tui.saving.targets import FileLines
from tui.workers.dispatch import Workers, WorkersLost
from tui.workers.local import LocalWorkers, processors
from tui.workers.runs import NoResults, ResultsFile, results_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.lines import Line2D
    from rich.console import Console

    from engine.base.terms import Plain
    from engine.scenario.model import JobEnd, Scenario
    from engine.specs.prices import PriceFile
    from engine.studies.measures import Spread
    from engine.studies.outcome import StudySummary, VariantSummary
    from engine.studies.runs import Result, Study


class StudyOptions(TypedDict):
    """The options as they were given to ``study``."""

    vary: tuple[str, ...]
    seeds: str | None
    workers: int | None
    dask: str | None
    confidence: float
    search: bool
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
        played = {run: file.results[run] for run in study.runs() if file is not None and run in file.results}
        before = len(played)
        confidence, currency = options["confidence"], scenario.currency
        search = confidence if options["search"] else None
        missing = rounds(study, played, search, currency)
        first = next(missing, None)
        most = max(1, most_runs(study, search) - before)
        with interrupts.held:
            workers = stack.enter_context(_workers(study, options, most)) if first else None
        with scenario_mistakes(quiet=True):
            Variants(study).check()  # while the workers begin
        plot = None if options["plot"] is None else stack.enter_context(FileLines(Path(options["plot"])))
        if file is not None and first:
            file.open()
        try:
            if workers is not None and first:
                # Between two batches: then what was played, kept and counted is the same.
                with StudyProgress(most, hidden=options["quiet"]) as progress, interrupts.held:
                    for results in results_of(study, chain([first], missing), workers, file):
                        played |= {Run(result["variant"], result["seed"]): result for result in results}
                        progress.update(len(played) - before)
                        interrupts.check()
        except KeyboardInterrupt:
            echo(f"\nInterrupted {_how_far(study, played, options)}", err=True)
            return INTERRUPTED
        except WorkersLost as error:
            echo(f"Error: {error}, {_how_far(study, played, options)}", err=True)
            return FAILED
        outcomes = [played[run] for run in study.runs() if run in played]
        summary = summarize(study, scenario.name, outcomes, confidence=confidence, currency=currency)
        if plot is not None:
            plot.write_bytes([drawn(summary, plot.path.suffix.lower().removeprefix("."), deadline_s(scenario.expect))])
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


def _workers(study: Study, options: StudyOptions, runs: int) -> AbstractContextManager[Workers[Run, str]]:
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


def _how_far(study: Study, played: dict[Run, Result], options: StudyOptions) -> str:
    kept = "nothing was kept; --results FILE keeps what is done"
    if options["results"] is not None:
        kept = f"they are in {Path(options['results'])}, and the same command goes on"
    return f"after {len(played):,} of {most_runs(study, None):,} runs; {kept}."


def _print(
    scenario: Scenario, study: Study, summary: StudySummary, results: list[Result], options: StudyOptions
) -> None:
    if options["output"] == "json":
        echo_json(as_json(summary))
    elif options["output"] == "csv":
        echo(csv_text(study, results, scenario.currency), nl=False)
    elif not options["quiet"]:
        echo_styled(study_text(summary, measures_of(scenario), console(to_stderr=False)))
    failed = [] if options["quiet"] else [result for result in results if result["error"] is not None]
    for result in failed[:10]:
        echo(f"variant {result['variant']}, seed {result['seed']} failed: {result['error']}", err=True)
    if len(failed) > 10:
        echo(f"{len(failed) - 10:,} more runs failed", err=True)


_LONGEST_VALUE = 40


def study_text(summary: StudySummary, shown: Sequence[str | JobEnd], target: Console) -> str:
    """Return the table of a study and its recommendation, as ``target`` would show them."""
    columns = shown_measures(shown)
    paths = [path for path, _ in summary.factors]
    heads = [">#", *short_names(paths), ">met", *(f">{heading(one)}" for one in columns), ""]
    words = [_value_words(values) for _, values in summary.factors]
    rows = [_variant_row(one, words, columns, summary) for one in summary.variants]
    title = f"{shortened(summary.scenario)}: {len(rows):,} variants, {len(summary.seeds):,} seeds"
    text = parts_text([plain_text(title), table("", heads, rows, target)], target)
    advice = "\n".join(map(visible, recommendation(summary).splitlines()))  # no width breaks these lines
    return f"{text}\n\n{_legend(summary, has_done_cost=DONE_COST in columns)}\n\n{advice}"


def _value_words(values: Sequence[Plain]) -> dict[str, str]:
    """Return the cells of the values of a factor by their texts; those that look alike when cut get numbers."""
    texts = [flow_text(value) for value in values]
    cut = [shortened(text, _LONGEST_VALUE) for text in texts]
    if len(set(cut)) < len(cut):
        cut = [f"{number}: {text}" for number, text in enumerate(cut, start=1)]
    return dict(zip(texts, cut, strict=True))


def _variant_row(
    one: VariantSummary, words: Sequence[dict[str, str]], columns: Iterable[str | JobEnd], summary: StudySummary
) -> Sequence[Text | str]:
    cut = f"only {one.runs:,} seed{'s' * (one.runs != 1)}" if one.runs else "not played"
    known = ("pareto", one.pareto), ("recommended", one.variant in summary.all_recommended), (cut, not one.is_whole)
    marks = [word for word, is_on in known if is_on]
    return (
        f"{one.variant:,}",
        *(known[flow_text(value)] for known, value in zip(words, one.values.values(), strict=True)),
        _met(one),
        *(_spread_text(one, column) for column in columns),
        "\n".join(marks),
    )


def _met(one: VariantSummary) -> Text:
    """Return how many runs kept all expectations, the interval of their share, and how many failed."""
    met = Text(f"{round(one.met.share * one.runs):,}/{one.runs:,}\n{interval_text(one.met)}" if one.each else "")
    return met.append(f"\n{one.errors:,} failed", "red") if one.errors else met


def _spread_text(one: VariantSummary, column: str | JobEnd) -> str:
    spread, text = spread_of(one, column), text_of(column, one.currency)
    return f"{text(spread.median)}\n{text(spread.p5)}–{text(spread.p95)}" if spread.median is not None else ""


def _legend(summary: StudySummary, *, has_done_cost: bool) -> str:
    lines = [
        "Medians over the seeds, below them 5th to 95th percentile.",
        "Times with + count from the start. A job ends after its last task, once its releases have ended.",
    ]
    if summary.has_expectations:
        lines.append("met: runs that kept all expectations, below them the 95 % interval of their share.")
    if len(summary.variants) > 1:
        where = " where what nobody chooses is the same" if any(one.line > 1 for one in summary.variants) else ""
        lines.append(f"pareto: no other variant is both cheaper and earlier{where}.")
    if has_done_cost:
        lines.append("cost: up to the end of each run, which the timeline or a formula may put off. until done: up to")
        lines.append("the end of the last task or job, in all runs alike; pareto and recommended go by that.")
    if not all(one.is_whole for one in summary.variants):
        runs = sum(one.runs for one in summary.variants)
        lines.append(f"The search has played {runs:,} of {len(summary.variants) * len(summary.seeds):,} runs.")
        lines.append("Only variants that were played with all seeds are pareto or recommended.")
    return "\n".join(lines)


def csv_text(study: Study, results: Iterable[Result], currency: str = USD) -> str:
    """Return a line for each run, by variant and seed; what a run does not have is empty.

    A variant that was not played has one line, without a seed.
    The cost in another ``currency`` than US dollars has a column of its own, the last one.
    """
    stream = io.StringIO()
    paths = [factor.path for factor in study.factors]
    writer = csv.writer(stream, lineterminator="\n")
    costs = [] if currency == USD else [f"cost{currency}"]
    writer.writerow(["variant", "seed", *paths, *MEASURES, *costs])
    rows = {(one["variant"], one["seed"]): one["summary"] or {} for one in results}
    left = set(range(1, study.variants + 1)) - {variant for variant, _ in rows}
    for (variant, seed), measured in sorted([*rows.items(), *(((one, None), {}) for one in left)], key=itemgetter(0)):
        values = [_cell(value) for value in study.values(variant).values()]
        values += [measured.get(name) for name in MEASURES]
        values += [amount_of(measured, currency) for _ in costs] if measured else []
        writer.writerow([variant, seed, *values])
    return stream.getvalue()


def _cell(value: Plain) -> object:
    """Return a number or a text as it is, anything else as JSON."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if is_plain else json.dumps(value)


_SIZE_INCHES = (8.0, 5.0)
_DPI = 150
_KEEPS, _FAILS, _LINE, _DUE = "#1f77b4", "#9a9a9a", "#d62728", "#b34a00"
_MOST_NUMBERS = 60  # points with their numbers; more cannot be read
_TITLE = 90
_MOST_TICKS = 9


def drawn(summary: StudySummary, kind: str, due_s: float | None = None) -> bytes:
    """Return the plot as a file of this kind, ``svg`` or ``png``, with a line at the deadline ``due_s``.

    The same study gives the same bytes.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MultipleLocator

    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    ended = (one for one in summary.variants if one.median_cost is not None and one.end_s is not None)
    points = [(one.done_cost.median, one.end_s, one) for one in ended]
    for _, _, one in points:
        _draw(axes, one, summary)
    for number in sorted({one.line for _, _, one in points if one.line}):
        line = sorted((cost, end) for cost, end, one in points if one.line == number)
        axes.plot([cost for cost, _ in line], [end for _, end in line], color=_LINE, linewidth=1, zorder=1)
    handles = _plot_legend(summary)
    if due_s is not None:
        handles.append(axes.axhline(due_s, color=_DUE, linestyle="--", label=f"deadline {end_text(due_s)}"))
    name = visible(shortened(summary.scenario, _TITLE))
    axes.set_title(f"{name}, {len(summary.seeds):,} seeds", parse_math=False)  # $ in a name begins no formula
    currencies = {one.currency for one in summary.variants}
    axes.set_xlabel(f"cost in {'US dollars' if currencies == {USD} else ', '.join(currencies)}")
    axes.set_ylabel("end of the last task")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(MultipleLocator(time_step_s(high - low, _MOST_TICKS)))
    axes.yaxis.set_major_formatter(lambda seconds, _: end_text(max(0.0, seconds)))
    axes.grid(visible=True, alpha=0.3)
    figure.legend(handles=handles, fontsize="small", loc="outside lower center", ncols=2)
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "batchdeck"}):  # otherwise the names inside an SVG are drawn by chance
        figure.savefig(stream, format=kind, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def _draw(axes: Any, one: VariantSummary, summary: StudySummary) -> None:  # noqa: ANN401 - matplotlib has no types here
    """Draw the median of a variant, with bars from the 5th to the 95th percentile."""
    cost, end = one.done_cost, one.measures["makespanSeconds"]
    keeps = one.is_whole and (not summary.has_expectations or one.met.share >= summary.confidence)
    is_best, color = one.variant in summary.all_recommended, _KEEPS if keeps else _FAILS
    style = {"fmt": "*", "markersize": 14, "zorder": 3} if is_best else {"fmt": "o", "markersize": 6, "zorder": 2}
    if not one.is_whole:
        style["markerfacecolor"] = "none"
    axes.errorbar(
        [cost.median], [end.median], xerr=_bars(cost), yerr=_bars(end), color=color, elinewidth=0.8, alpha=0.9, **style
    )
    if len(summary.variants) <= _MOST_NUMBERS:
        axes.annotate(str(one.variant), (cost.median, end.median), (5, 5), textcoords="offset points", fontsize=8)


def _bars(spread: Spread) -> list[list[float]]:
    low, middle, high = (value or 0.0 for value in (spread.p5, spread.median, spread.p95))
    return [[middle - low], [high - middle]]


def _plot_legend(summary: StudySummary) -> list[Line2D]:
    from matplotlib.lines import Line2D

    def point(color: str, label: str, marker: str = "o") -> Line2D:
        return Line2D([], [], color=color, marker=marker, linestyle="", label=label)

    handles = [Line2D([], [], color=_LINE, linewidth=1, label="no other is both cheaper and earlier")]
    if summary.has_expectations:
        share = percent(summary.confidence)
        handles.append(point(_KEEPS, f"keeps all expectations in {share} of its runs"))
        handles.append(point(_FAILS, "keeps them less often"))
    cut = [one for one in summary.variants if not one.is_whole]
    if cut:
        none = sum(not one.runs for one in cut)
        handles.append(point(_FAILS, f"{len(cut) - none:,} played with fewer seeds, {none:,} not at all"))
        handles[-1].set_markerfacecolor("none")
    if summary.all_recommended:
        handles.append(point(_KEEPS, f"recommended: variant {', '.join(map(str, summary.all_recommended))}", "*"))
    return handles
