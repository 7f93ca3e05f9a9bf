"""Arguments of all commands: scenarios with their mistakes and warnings, moments, speeds and keys.

Whatever a command prints passes through ``echo``, or is drawn by the console of ``tui.saving``: both show control
characters in text from outside as escapes.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import textwrap
from collections import Counter, defaultdict
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

import click

from engine.base.values import lazy_regex, quoted, shortened, visible, visible_json
from tui import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    from click.shell_completion import CompletionItem

    from engine.base.errors import Problem
    from engine.scenario.model import Scenario
    from engine.specs.prices import PriceFile


Command = TypeVar("Command", bound="Callable[..., object]")

# Exit statuses: expectations held, or did not; nothing was run; Ctrl-C.
DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
_NARROWEST = 40  # cells of a text


def echo(text: str = "", *, err: bool = False, nl: bool = True, color: str | None = None) -> None:
    """Print a text to stdout, or to stderr, with control characters in it as escapes; a terminal may show a color."""
    interrupts.end_opening()
    shown, is_plain = visible(text), color is None or os.environ.get("NO_COLOR")
    click.echo(shown if is_plain else click.style(shown, color), err=err, nl=nl)


def echo_styled(text: str, *, err: bool = False, color: bool | None = None) -> None:
    """Print a text with the colours of Rich or click in it. Whatever it has from outside must be escaped already."""
    click.echo(text, err=err, color=color)


def echo_json(value: object) -> None:
    """Print a value as indented JSON."""
    click.echo(visible_json(json.dumps(value, indent=2, ensure_ascii=False)))


def echo_list(texts: Mapping[str, str]) -> None:
    """Print names with a text about each. In a terminal long lines are broken between words, which it would not do."""
    cells = max(map(len, texts)) + 2
    columns = max(shutil.get_terminal_size().columns, cells + _NARROWEST) if sys.stdout.isatty() else sys.maxsize
    for name, about in texts.items():
        echo(textwrap.fill(f"{name:<{cells}}{about}", columns, subsequent_indent=" " * cells))


def print_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback, as ``sys.excepthook``: messages, and the command line that led to it, come from outside."""
    import traceback

    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


seed_option = click.option("--seed", type=int, metavar="N", help="Use the random seed N instead of the scenario's.")


def _read_prices(_context: click.Context, _parameter: click.Parameter, name: str | None) -> PriceFile | None:
    """Read the file of ``--prices``; print its mistakes and exit with status 2 if it cannot be read."""
    if name is None:
        return None
    from engine.specs.prices import read_prices

    with scenario_mistakes():
        return read_prices(name)


prices_option = click.option(
    "--prices",
    metavar="FILE",
    callback=_read_prices,
    help="Take prices from FILE: CSV as `sizes` writes it, or JSON of the retail price list.",
)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return what gives a command these options, which its help shows in this order."""
    return lambda command: reduce(lambda given, option: option(given), reversed(options), command)


def output_option(*kinds: str, about: str = "How to show the result.") -> Callable[[Command], Command]:
    """Return the option ``--output``, whose default is the first of these kinds."""
    return click.option("--output", type=click.Choice(kinds), default=kinds[0], show_default=True, help=about)


@contextmanager
def needing(user: str, extra: str, module: str = "") -> Iterator[None]:
    """Raise click.UsageError if a module that is imported in the block is not installed: ``extra`` has it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = f"{user} needs {module or error.name}, which is not installed: pip install 'batchdeck[{extra}]'"
        raise click.UsageError(missing) from None


def complete_scenario(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a bundled scenario or of a file."""
    from click.shell_completion import CompletionItem

    from engine.scenario.text import bundled

    names = [CompletionItem(name) for name in bundled() if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]  # bash forgets the names that come before a file


def is_json(name: str) -> bool:
    """Return whether a file of this name is read with the folder in which it is."""
    return name.lower().endswith(".json")


def check_apart(read: Iterable[str], written: Mapping[str, str | None]) -> None:
    """Check that nothing that is read would be replaced by what is written, under whatever name.

    Args:
        read: Names of files, and of folders of which the JSON files are read.
        written: Names of files by the options that name them.

    Raises:
        click.UsageError: Something would.
    """
    given = list(read)
    inside = [os.path.join(name, each) for name in given if os.path.isdir(name) for each in os.listdir(name)]
    kept = [name for name in (*given, *(each for each in inside if is_json(each))) if os.path.isfile(name)]
    for option, name in written.items():
        if name is not None and os.path.isfile(name) and any(os.path.samefile(name, other) for other in kept):
            raise click.UsageError(f"{option} would replace {name}, which is read; give it a file of its own.")


def load(
    name: str, *, strict: bool = False, quiet: bool = False, prices: PriceFile | None = None, executes: bool = False
) -> Scenario:
    """Load a scenario and print its warnings, unless ``quiet``; exit with status 2 if it is not valid."""
    from engine import load_scenario

    with scenario_mistakes(quiet=quiet):
        loaded = load_scenario(name, strict=strict, prices=prices)
    loaded = loaded.executing() if executes else loaded
    if not quiet:
        print_warnings(loaded.warnings)
    return loaded


@contextmanager
def scenario_mistakes(*, quiet: bool = False) -> Iterator[None]:
    """Print the mistakes of a scenario that is loaded within the block, and exit with status 2 if there are any."""
    from engine import ScenarioError

    try:
        yield
    except ScenarioError as error:
        everything = error.problems if quiet else [*error.problems, *error.warnings]
        print_warnings(sorted(everything, key=lambda problem: (problem.line, problem.column)))
        raise click.exceptions.Exit(WRONG) from None


def print_warnings(warnings: Iterable[Problem]) -> None:
    """Print warnings about a scenario, or mistakes in it, to stderr."""
    for line in problem_lines(warnings):
        echo(line, err=True)


_MOST_LINES, _MOST_KINDS = 50, 8
_QUOTED_OR_NUMBER = lazy_regex(r"""'[^']*'|"[^"]*"|\b\d[\d.,]*""")


def problem_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the first fifty mistakes, the first fifty warnings, and the number of the others of each kind.

    Messages are of one kind if they differ only in quoted values, numbers, and what follows a colon.
    """
    left: defaultdict[str, list[Problem]] = defaultdict(list)
    shown: Counter[str] = Counter()
    for problem in problems:
        shown[problem.severity] += 1
        if shown[problem.severity] <= _MOST_LINES:
            yield str(problem)
        else:
            left[problem.severity].append(problem)
    for severity, others in left.items():
        name = "warning" if severity == "warning" else "mistake"
        yield f"{len(others):,} more {name}{'s' if len(others) > 1 else ''}:"
        kinds = Counter(_QUOTED_OR_NUMBER.sub("…", each.message).partition(": ")[0] for each in others).most_common()
        yield from (f"{number:>7,}  {shortened(kind)}" for kind, number in kinds[:_MOST_KINDS])
        if rest := sum(number for _, number in kinds[_MOST_KINDS:]):
            yield f"{rest:>7,}  of {len(kinds) - _MOST_KINDS:,} other kinds"


def problem_json(problem: Problem) -> dict[str, object]:
    """Return a mistake or warning as an object of JSON."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity,
        "code": problem.word,
        "path": problem.path,
        "message": problem.message,
    }


def annotation(problem: Problem, title: str = "") -> str:
    """Return a mistake or warning as a line with which GitHub marks its place in a file: ``::error file=...::...``.

    Args:
        problem: The mistake or warning; where its place is not known, the beginning of the file is marked.
        title: What stands above the message.  [default: the code of the problem]
    """
    said = f"{problem.path}: {problem.message}" if problem.path else problem.message
    named = {"file": problem.file.replace(os.sep, "/"), "line": problem.line or 1, "col": problem.column or 1}
    named["title"] = title or problem.word
    values = {key: _escaped(str(value)).replace(":", "%3A").replace(",", "%2C") for key, value in named.items()}
    place = ",".join(f"{key}={value}" for key, value in values.items())
    return f"::{problem.severity} {place}::{_escaped(said)}"


def _escaped(text: str) -> str:
    """Return a text as the runner of GitHub decodes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def parse_speed(text: str) -> float:
    """Parse simulated seconds per real second; 0 is as fast as possible."""
    if text.lower() == "max":
        return 0
    try:
        speed = float(text.lower().removeprefix("x"))
    except ValueError:
        speed = 0
    if not 0 < speed < float("inf"):
        raise click.BadParameter(
            f"{quoted(text)} is not a speed: must be a number above 0, or max.", param_hint="--speed"
        )
    return speed


def parse_moment(text: str, scenario: Scenario, option: str = "--until") -> int:
    """Parse a time as scenarios have it or as it is typed in the dashboard, in ms from the start.

    A mistake names the option.
    """
    from engine.scenario.conditions import LATEST_MS, parse_time
    from tui.viewmodels import format as typed

    try:
        return parse_time(text, scenario.start)
    except ValueError as error:
        wrong = error
    if typed.names_moment(text) and not text.isalpha():  # where a run ends or fails is not known yet
        try:
            when_ms = typed.parse_moment(text, scenario.start, 0)
            if 0 <= when_ms <= LATEST_MS:
                return when_ms
        except ValueError as error:
            wrong = error
    raise click.BadParameter(str(wrong), param_hint=option)


def parse_key(text: str) -> str:
    """Return the key of an account, which is base64."""
    try:
        is_key = bool(base64.b64decode(text, validate=True))
    except ValueError:
        is_key = False
    if not is_key:
        raise click.BadParameter("must be base64, as the portal shows keys.", param_hint="--key")
    return text


def contents(scenario: Scenario) -> str:
    """Return the numbers of what a scenario has: ``1 pool, 60 tasks``, or ``nothing in it``."""
    tasks = sum(len(job.tasks) + (job.factory.count if job.factory else 0) for job in scenario.jobs)
    counts = (
        (len(scenario.pools), "pool", "pools"),
        (len(scenario.jobs), "job", "jobs"),
        (tasks, "task", "tasks"),
        (len(scenario.job_schedules), "job schedule", "job schedules"),
        (len(scenario.timeline), "timeline entry", "timeline entries"),
        (len(scenario.expect), "expectation", "expectations"),
    )
    named = (f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count)
    return ", ".join(named) or "nothing in it"
