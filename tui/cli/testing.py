"""Testing scenarios: workers play them, and what came of their cases is printed, or written as JUnit XML."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, TypedDict
from xml.etree import ElementTree as ET

import click

from engine.base.errors import Problem, Severity
from engine.base.values import quoted
from engine.cases import CasePlayer, SuiteRun, heading, lines_of, scenarios_in, xml_text
from tui import interrupts
from tui.cli.arguments import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG,
    annotation,
    check_apart,
    echo,
    echo_json,
    echo_styled,
    print_warnings,
)
from tui.cli.replay import StudyProgress
from tui.saving.targets import STDOUT, lines_target
from tui.workers.dispatch import Dispatcher, WorkersLost
from tui.workers.local import LocalWorkers, processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine.cases import Outcome, Suite
    from engine.specs.prices import PriceFile

_NONE_FOUND = 5  # the exit status, as of pytest
_SLICES = 2  # of the seeds of a scenario, for each worker
_WORDS = {"passed": "ok", "failed": "FAILED", "error": "WRONG"}


class SuiteOptions(TypedDict):
    """The options as they were given to ``test``."""

    text: str | None
    seeds: int | None
    workers: int | None
    junit: str | None
    output: str
    strict: bool
    prices: PriceFile | None
    quiet: bool


def conduct(paths: Sequence[str], options: SuiteOptions) -> int:
    """Play the scenarios in files and folders, show or write what came of their cases, and return the exit status."""
    junit = options["junit"]
    names = _names(paths or (os.curdir,), options)
    check_apart(names, {"--junit": junit})
    played: list[Suite] = []
    with ExitStack() as stack:
        stack.enter_context(interrupts.unwinding)
        report = None if junit is None else stack.enter_context(lines_target(junit))
        try:
            if names:
                _play(names, options, played)
        except KeyboardInterrupt:
            echo(f"\nInterrupted after {_how_far(played, names)}.", err=True)
            return INTERRUPTED
        except WorkersLost as error:
            echo(f"Error: {error}, after {_how_far(played, names)}.", err=True)
            return FAILED
        suites = _in_order(played, names)
        if report is not None:
            report.write_bytes([_junit(suites)])
            with interrupts.held:
                report.keep()
    counts = Counter(case.outcome for suite in suites for case in suite.cases)
    if junit != STDOUT:
        _show(suites, counts, options)
    if not suites:
        kept = f" with {quoted(options['text'])} in its path or name" if options["text"] else ""
        echo(f"No scenario{kept} was found in {', '.join(paths) or 'this folder'}.", err=True)
        return _NONE_FOUND
    return WRONG if counts["error"] else FAILED if counts["failed"] else DONE


def _names(paths: Sequence[str], options: SuiteOptions) -> dict[str, str]:
    """Return the scenarios in files and folders with their names, each once; a name that cannot be read is empty.

    Raises:
        click.UsageError: A folder that was named cannot be read.
    """

    def pass_over(error: OSError) -> None:
        if error.filename in paths:
            raise click.UsageError(f"{error.filename} cannot be read: {error.strerror}.")
        if not options["quiet"] and isinstance(error, PermissionError):
            echo(f"{error.filename} is passed over: {error.strerror}", err=True)

    found: dict[str, tuple[str, str]] = {}  # by their places, to which several paths may lead
    for path in paths:
        for file, name in scenarios_in(path, pass_over) if os.path.isdir(path) else [(path, _name(path))]:
            if (options["text"] or "") in f"{file}\n{name}":
                found.setdefault(os.path.abspath(file), (file, name))
    return dict(found.values())


def _name(file: str) -> str:
    """Return the name of the scenario in a file; empty if it cannot be read."""
    try:
        return heading(file) or ""
    except OSError:
        return ""


def _play(names: Mapping[str, str], options: SuiteOptions, played: list[Suite]) -> None:
    """Play scenarios, the largest files first, and append what comes of them.

    Raises:
        KeyboardInterrupt: A signal has come.
        WorkersLost: There are no workers any more.
    """
    player = CasePlayer(time.perf_counter, strict=options["strict"], prices=options["prices"])
    most, seeds = options["workers"] or processors(), options["seeds"] or 0
    slices = min(seeds, ceil(_SLICES * most / len(names))) if seeds else 1
    edges = [1 + seeds * at // slices for at in range(slices + 1)]
    files = sorted(names, key=lambda file: os.path.getsize(file) if os.path.isfile(file) else 0, reverse=True)
    runs = [SuiteRun(file, range(first, end)) for file in files for first, end in pairwise(edges)]
    with ExitStack() as stack:
        with interrupts.held:
            workers = stack.enter_context(LocalWorkers(player, min(most, len(runs))))
        is_hidden = options["quiet"] or not sys.stderr.isatty()
        with StudyProgress(len(runs), hidden=is_hidden, what="Test") as progress, interrupts.held:
            for suites in Dispatcher(player, workers).play(runs):
                played += suites
                progress.update(len(played))
                interrupts.check()


def _in_order(played: Iterable[Suite], names: Mapping[str, str]) -> list[Suite]:
    """Return a result for each file, in the order of the names: parts with different seeds are merged."""
    found: dict[str, Suite] = {}
    for suite in sorted(played, key=lambda each: tuple(each.seeds[:1])):
        found[suite.file] = found[suite.file].merged(suite) if suite.file in found else suite
    return [found[file]._replace(name=found[file].name or name) for file, name in names.items()]


def _how_far(played: Iterable[Suite], names: Mapping[str, str]) -> str:
    return f"{len({suite.file for suite in played}):,} of {len(names):,} scenarios; nothing was written"


# -- what is shown -----------------------------------------------------------------------------------------------------


def _show(suites: Sequence[Suite], counts: Counter[Outcome], options: SuiteOptions) -> None:
    """Print the result; nothing for a person who wants quiet while every case holds."""
    output, quiet = options["output"], options["quiet"]
    is_told = bool(suites) and not quiet
    if output == "json":
        echo_json(_as_json(suites, counts))
    elif output == "github":
        for suite in suites:
            for line in _annotations(suite, with_warnings=is_told):
                echo(line)
    else:
        if is_told:
            _list(suites)
        for suite in suites:
            _explain(suite)
    if output != "github" and is_told:
        print_warnings(each for suite in suites for each in suite.problems if each.severity is Severity.WARNING)
    if output != "json" and (is_told or counts["failed"] or counts["error"]):
        held = f"{counts['passed']:,} passed, {counts['failed']:,} failed"
        echo(f"scenarios: {len(suites):,}; cases: {held}, {counts['error']:,} in error")


def _list(suites: Sequence[Suite]) -> None:
    """Print a line for each scenario; its path comes last, since no width is too small for it there."""
    echo("result  cases  not met  scenario")
    for suite in suites:
        broken = [case.outcome for case in suite.cases if case.is_broken]
        word = _WORDS[broken[0] if broken else "passed"]
        line = f"{word:<6}  {len(suite.cases):>5,}  {len(broken):>7,}  {suite.file}"
        echo(line, color="red" if broken else None)
    echo()


def _explain(suite: Suite) -> None:
    """Print what is expected and seen of each case that does not hold, and what needs attention at the end."""
    for case in suite.cases:
        if case.is_broken:
            echo("\n".join(lines_of(case, suite)) + "\n")
    for seed, items in suite.attention.items():
        from tui.cli.output import attention_table, parts_text
        from tui.saving.console import console

        target = console(to_stderr=False)
        found = attention_table(f"Needs attention in {suite.file}, seed {seed}", items, target)
        echo_styled(parts_text([found], target) + "\n")


def _annotations(suite: Suite, *, with_warnings: bool) -> Iterator[str]:
    """Yield the mistakes and failures of a scenario, and its warnings, as annotations of GitHub."""
    for problem in suite.problems:
        if with_warnings or problem.severity is Severity.ERROR:
            yield annotation(problem)
    for case in suite.cases:
        if case.outcome == "failed":
            said = "\n".join((case.why, *lines_of(case, suite)[1:]))
            yield annotation(Problem(said, "", case.line, case.column, suite.file), case.name)


def _as_json(suites: Sequence[Suite], counts: Counter[Outcome]) -> dict[str, object]:
    shown = ("name", "line", "outcome", "expected", "seen", "seed")
    scenarios = []
    for suite in suites:
        cases = [{field: getattr(case, field) for field in shown} for case in suite.cases]
        seconds = round(suite.seconds, 3)
        scenarios.append({"file": suite.file, "name": suite.name, "seconds": seconds, "cases": cases})
    return {"scenarios": scenarios, "passed": counts["passed"], "failed": counts["failed"], "errors": counts["error"]}


def _junit(suites: Sequence[Suite]) -> bytes:
    """Return a report in the form of JUnit. Runs that are equal give equal bytes but for ``time``."""
    root = ET.Element("testsuites", {"name": "batchdeck", **_totals(suites)})
    for suite in suites:
        inner = _element(root, "testsuite", name=suite.file, **_totals([suite]))
        seconds = f"{suite.seconds / len(suite.cases):.3f}"
        for case in suite.cases:
            named = {"classname": _classname(suite.file), "name": case.name, "file": suite.file}
            found = _element(inner, "testcase", **named, line=str(case.line), time=seconds)
            if case.is_broken:
                tag = "error" if case.outcome == "error" else "failure"
                text = "\n".join(lines_of(case, suite))
                _element(found, tag, message=case.why, type=case.outcome).text = xml_text(text)
    ET.indent(root)
    content: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _element(above: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(above, tag, {name: xml_text(value) for name, value in attributes.items()})


def _totals(suites: Sequence[Suite]) -> dict[str, str]:
    outcomes = [case.outcome for suite in suites for case in suite.cases]
    named = {"tests": len(outcomes), "failures": outcomes.count("failed"), "errors": outcomes.count("error")}
    seconds = sum(suite.seconds for suite in suites)
    return {name: str(value) for name, value in named.items()} | {"skipped": "0", "time": f"{seconds:.3f}"}


def _classname(file: str) -> str:
    """Return a path without its ending, with dots: ``scenarios.night``."""
    parts = os.path.splitext(file)[0].replace(os.sep, "/").split("/")
    return ".".join(part for part in parts if part not in ("", os.curdir, os.pardir))
