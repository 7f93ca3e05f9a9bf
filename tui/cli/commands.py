"""The command line: thin commands over the engine's face.

Results go to stdout, everything else to stderr. Exit status: 0 done and every expectation held; 1 an expectation
failed, a formula did not evaluate, or the result could not be written; 2 the input or the call is wrong and nothing
was run; 130 interrupted. The engine is imported by the commands that need it, so that help and completion answer at
once.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Unpack

import click

from engine.base.partial_files import discard_all
from engine.base.values import shortened, visible, with_short_words
from tui import interrupts
from tui.cli.analysis import VariantChoice, check_study, compare, play_tests, study, variant_options, why
from tui.cli.arguments import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG,
    annotation,
    check_apart,
    complete_scenario,
    contents,
    echo,
    echo_json,
    echo_list,
    echo_styled,
    load,
    output_option,
    parse_moment,
    parse_speed,
    prices_option,
    print_defect,
    print_warnings,
    problem_json,
    problem_lines,
    scenario_mistakes,
    seed_option,
)
from tui.cli.executing import ClientOptions, ExecutionOptions, check_execution, executing, execution_options
from tui.cli.reference import completion, docs, rules, sizes
from tui.cli.serve import client_options, import_history, read_options, serve
from tui.saving.settings import THEME_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.base.errors import Problem
    from engine.specs.prices import PriceFile
    from engine.views.diagnosis.questions import OpenJob

# What the dashboard opens without a scenario, at a moment at which both nodes are prepared and run tasks.
FIRST, FIRST_AT = "job-prep-release-sample", "PT2M49S"
_OF_A_RUN = ("variant", "prices", *ExecutionOptions.__annotations__)  # options of `open` that are not about clients
_NO_CURSOR = ("dumb", "unknown")  # values of TERM that cannot show a dashboard


class _GivenToRun(ExecutionOptions):
    """The options of ``run`` as they were given."""

    until: str | None
    seed: int | None
    events: str | None
    trace: str | None
    tasks: str | None
    html: str | None
    files: str | None
    output: str
    variant: VariantChoice
    prices: PriceFile | None
    quiet: bool
    strict: bool


class _GivenToOpen(ClientOptions, ExecutionOptions):
    """The options about clients, and about the variant, as they were given to ``open``."""

    serves: bool
    variant: VariantChoice
    prices: PriceFile | None


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="batchdeck", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Simulate Azure Batch: pools, jobs, tasks, job preparation and release, in simulated time.

    A scenario is a YAML file with the service's own REST bodies. The same scenario and seed give the same run.
    Without a command, in a terminal, the dashboard opens on a bundled scenario, paused where there is something to see.

    \b
    Examples:
      batchdeck scenarios                       what is bundled
      batchdeck run job-prep-release-sample     replay it and print what happened
      batchdeck check my.yaml                   every mistake of a file, with line and column
      batchdeck test scenarios/                 whether all scenarios keep what they expect, for a CI
      batchdeck why my.yaml job:risk            why a job waits, fails or has not ended
      batchdeck sample --yes                    the JobPrepRelease console sample
      batchdeck study my.yaml --seeds 20        which variant to take: many runs, measured
      batchdeck import pool.json job.json ...   what really happened, as a scenario
      batchdeck compare my.yaml export/         predicted against observed, or two runs
      batchdeck serve my.yaml                   let clients of Azure Batch act on a simulation
      batchdeck rules PREP-16                   a rule of the service that the simulation follows
      batchdeck sizes 'd4*v5'                   VM sizes: cores, memory, prices, retirement
      batchdeck docs                            the pages of the documentation

    \b
    Completion of commands, options and names in bash, zsh and fish:
      batchdeck completion --install

    \b
    Exit status:
      0  done, and every expectation of the scenario held
      1  an expectation failed, a command was refused unexpectedly, or a formula did not evaluate
      2  the scenario or the call is wrong; nothing was run
      130  interrupted
      129, 143  the terminal was closed, or SIGTERM
    """
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        context.exit(context.invoke(open_dashboard, scenario=FIRST, at=FIRST_AT, paused=True, introduces=True))
    echo(context.get_help())


@cli.command()
@click.argument("scenario", shell_complete=complete_scenario)
@click.option(
    "--until", metavar="TIME", help="Stop there: PT5M, 5m or 300 (seconds) from the start, 10:42, or a UTC time."
)
@seed_option
@click.option(
    "--events",
    metavar="FILE",
    help="Write the event log: as JSON Lines, or as a table to FILE.parquet or FILE.arrow; - is stdout.",
)
@click.option("--trace", metavar="FILE", help="Write a trace of all nodes for Perfetto or a browser; - is stdout.")
@click.option("--tasks", metavar="FILE", help="Write a line for each task, with all its times, as CSV; - is stdout.")
@click.option("--html", metavar="FILE", help="Write the run as one offline page for a browser; - is stdout.")
@click.option("--files", metavar="DIR", help="Write the files on every node and in storage at the end.")
@output_option("table", "json")
@variant_options
@prices_option
@execution_options
@click.option("--quiet", "-q", is_flag=True, help="No table, no progress bar and no warnings, only the exit status.")
@click.option("--strict", is_flag=True, help="Treat warnings as mistakes: run nothing, exit with status 2.")
def run(scenario: str, **given: Unpack[_GivenToRun]) -> int:
    """Replay SCENARIO, a file or the name of a bundled one, as fast as possible.

    Prints tables of jobs, pools and expectations, and what needs attention at the end, which `batchdeck why` explains.
    With --events - stdout holds only the events, and the tables go to stderr, as warnings do; likewise --trace -,
    --tasks - and --html -. Files appear when the run is over: those on nodes with --files as DIR/<pool>/<node>/..., the
    blobs in storage as DIR/storage/<account>/<container>/<blob>. ui.perfetto.dev and chrome://tracing open a trace.

    \b
    Examples:
      batchdeck run job-prep-release-sample
      batchdeck run my.yaml --until PT2H --seed 42
      batchdeck run my.yaml --events - | jq -r 'select(.event == "TaskScheduleFail")'
      batchdeck run my.yaml --events run.parquet             for pandas, polars and DuckDB
      batchdeck run my.yaml --output json --files nodes > state.json
      batchdeck run my.yaml --trace trace.json --tasks tasks.csv
      batchdeck run my.yaml --html run.html                  to show it to somebody
      batchdeck run my.yaml --variant 17 --seed 4            one run of `batchdeck study my.yaml`
      batchdeck run my.yaml --execute --record seen.yaml     command lines really run, and seen.yaml replays it
    """
    from engine import Simulation
    from engine.views import results
    from tui.cli.replay import RunFiles, RunProgress, WantedFiles, how_far, replay

    output, quiet = given["output"], given["quiet"]
    wanted = WantedFiles(given["events"], given["trace"], given["tasks"], given["html"], given["files"])
    wanted.check(output)
    check_execution(given)
    check_apart([scenario], wanted.named() | {"--record": given["record"]})
    strict, prices, executes = given["strict"], given["prices"], given["execute"]
    loaded = given["variant"].of(load(scenario, strict=strict, quiet=quiet, prices=prices, executes=executes))
    if given["until"] is not None:
        loaded = replace(loaded, until_ms=parse_moment(given["until"], loaded))
    with interrupts.unwinding, ExitStack() as stack:
        files = RunFiles(wanted, stack)
        simulation = Simulation(loaded, seed=given["seed"], can_go_back=False)
        try:
            with executing(simulation, given, quiet=quiet), RunProgress(hidden=quiet) as progress:
                replay(simulation, files.event_lines, progress)
                files.write(simulation, progress)
        except KeyboardInterrupt:
            echo(f"\nInterrupted {how_far(simulation)}; no file was written.", err=True)
            return INTERRUPTED
        with interrupts.held:
            files.keep()
        if files.note and not quiet:
            echo(files.note, err=True)
    summary = results.summary(simulation)
    if output == "json":
        from tui.cli.output import write_state

        write_state(simulation, sys.stdout.buffer)
    elif not quiet:
        from engine.views.diagnosis.concerns import Attention
        from engine.views.diagnosis.waste import started_over
        from tui.cli import output as show
        from tui.saving.console import console

        to_stderr = wanted.uses_stdout
        waiting: Iterable[OpenJob] = ()
        if summary.has_open_jobs:
            from engine.views.diagnosis.questions import open_jobs

            waiting = open_jobs(simulation)
        items = Attention(simulation).items(with_subjects=False)
        again = started_over(simulation, show.MOST_AGAIN + 1)
        echo_styled(show.summary_text(summary, console(to_stderr=to_stderr), waiting, items, again), err=to_stderr)
    return DONE if summary.as_expected else FAILED


@cli.command("open")
@click.argument("scenario", shell_complete=complete_scenario)
@seed_option
@click.option(
    "--speed", metavar="X", help="Simulated seconds per real second, or max.  [default: a run takes about a minute]"
)
@click.option(
    "--at",
    metavar="TIME",
    help="Open paused at a moment: PT5M, 5m or 300 (seconds) from the start, 10:42, a UTC time. --speed plays on.",
)
@click.option("--paused", is_flag=True, help="Start paused; Space plays.")
@click.option(
    "--theme",
    type=click.Choice(THEME_NAMES),
    help="Colours, the terminal's own, or none.  [default: dark, or as left last]",
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
@variant_options
@prices_option
@execution_options
@click.option("--serve", "serves", is_flag=True, help="Let clients of Azure Batch act on the run, as `serve` does.")
@client_options
def open_dashboard(
    scenario: str,
    seed: int | None = None,
    speed: str | None = None,
    at: str | None = None,
    paused: bool = False,
    theme: str | None = None,
    ascii_only: bool = False,
    introduces: bool = False,
    **given: Unpack[_GivenToOpen],
) -> int:
    """Open the dashboard on SCENARIO, a file or the name of a bundled one.

    Space plays and pauses, . goes to the next moment at which something happens and , back, a acts, ? opens the help.
    What was done by hand can be saved as a scenario that replays to the same events.

    \b
    Examples:
      batchdeck open job-prep-release-sample --paused
      batchdeck open my.yaml --at PT10M --speed 600
      batchdeck open my.yaml --serve --port 8100      clients act, the screen shows it
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("the dashboard needs a terminal; `batchdeck run` replays without one.")
    if os.environ.get("TERM", "").lower() in _NO_CURSOR:
        reason = "this terminal (TERM) cannot move its cursor"
        raise click.UsageError(f"{reason}; `batchdeck run` replays without a dashboard.")
    with ExitStack() as stack:
        stack.callback(interrupts.end_opening)
        longest = shutil.get_terminal_size().columns // 3  # a character may take two cells
        interrupts.begin_opening(f"Opening {shortened(visible(scenario), longest)} ...")
        host = None
        check_execution(given)
        if given["serves"]:
            if given["variant"].is_made or given["prices"] is not None:
                raise click.UsageError("--variant, --vary and --prices cannot be used with --serve.")
            options = read_options(scenario, given, speed=speed, seed=seed, quiet=True)
            from tui.cli.serving import DashboardHost, begin_session

            with scenario_mistakes(quiet=True):
                simulation = begin_session(options, can_go_back=True)
            at_ms = 0 if at is None else parse_moment(at, simulation.scenario, "--at")
            pace: float | None = options.speed
            plays = options.step_ms is None
            host = DashboardHost(simulation, options, stack)
        else:
            if any(value not in (None, False, ()) for name, value in given.items() if name not in _OF_A_RUN):
                raise click.UsageError("options about clients need --serve.")
            loaded = given["variant"].of(load(scenario, quiet=True, prices=given["prices"], executes=given["execute"]))
            pace = None if speed is None else parse_speed(speed)
            at_ms = 0 if at is None else parse_moment(at, loaded, "--at")
            from engine import Simulation

            simulation = Simulation(loaded, seed=seed)
            simulation.awaits_commands = given["execute"]  # time has passed for programs, and cannot be taken back
            plays = at is None or speed is not None
        from tui.app.dashboard import show_dashboard

        variables = None if host is None else host.task_variables
        stack.enter_context(executing(simulation, given, variables, storage=given["storage"], quiet=True))
        return show_dashboard(
            simulation,
            at_ms=at_ms,
            speed=pace,
            plays=plays and not paused,
            theme=theme,
            ascii_only=ascii_only,
            introduces=introduces,
            host=host,
        )


@cli.command()
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...", shell_complete=complete_scenario)
@click.option(
    "--quiet", "-q", is_flag=True, help="Only mistakes: no warnings, and no line for a file without mistakes."
)
@click.option("--strict", is_flag=True, help="Treat warnings as mistakes: exit with status 2.")
@output_option("text", "json", "github", about="How to show mistakes; json and github have all, and the warnings.")
def check(scenarios: tuple[str, ...], quiet: bool, strict: bool, output: str) -> int:
    """Validate each SCENARIO, or all scenarios in a folder, without running it.

    Mistakes are printed as file:line:column: path: what is wrong. Of more than fifty in a file the rest is counted by
    kind. Warnings, about what a run would accept although it is probably not what was meant, go to stderr and do not
    change the exit status.

    \b
    Examples:
      batchdeck check scenarios/*.yaml
      batchdeck check --output json my.yaml     every mistake and warning, as a list
      batchdeck check --strict my.yaml          in a CI, where nobody reads warnings
      batchdeck check --output github my.yaml   marks of a pull request on GitHub
    """
    from engine import ScenarioError, load_scenario
    from engine.cases import scenarios_in

    status = DONE
    listed: list[dict[str, object]] = []
    for name in (file for given in scenarios for file in dict(scenarios_in(given, lambda _: None)) or [given]):
        mistakes: Sequence[Problem] = ()
        warnings: Sequence[Problem] = ()
        try:
            loaded = load_scenario(name, strict=strict)
            warnings = loaded.warnings
            if loaded.study.factors:
                check_study(loaded)
        except ScenarioError as error:
            mistakes, warnings = error.problems, error.warnings or warnings
            status = WRONG
        warnings = () if quiet else warnings
        everything = sorted((*mistakes, *warnings), key=attrgetter("line", "column"))
        if output == "json":
            listed += map(problem_json, everything)
            continue
        if output == "github":
            for problem in everything:
                echo(annotation(problem))
            continue
        for line in problem_lines(mistakes):
            echo(line)
        if not mistakes and not quiet:
            echo(f"{name}: ok, {contents(loaded)}")
        print_warnings(warnings)
    if output == "json":
        echo_json(listed)
    return status


@cli.command()
def scenarios() -> int:
    """List the bundled scenarios, with a line each.

    Their names can be given wherever a SCENARIO is asked for.
    """
    from engine.scenario.text import bundled, headline

    echo_list({name: headline(path.read_text(encoding="utf-8"))[0] for name, path in bundled().items()})
    return DONE


@cli.command()
def schema() -> int:
    """Print the JSON Schema of the scenario file.

    Editors complete and check scenarios with it.

    \b
    Example, for the YAML extension of VS Code and others with yaml-language-server:
      batchdeck schema > scenario.schema.json
      and as first line of the scenario:  # yaml-language-server: $schema=scenario.schema.json
    """
    from engine.scenario.schema import schema as scenario_schema

    echo(json.dumps(scenario_schema(), indent=2))
    return DONE


@cli.command()
@click.option("--yes", is_flag=True, help="Answer yes to both questions.")
def sample(yes: bool) -> int:
    """Play the JobPrepRelease console sample and print its transcript.

    Two nodes, a job with preparation and release tasks, eight tasks. At the end it asks whether to delete the job and
    the pool: anything but n or no means yes.
    """
    from tui.cli.sample import play

    play(answer_yes=yes)
    return DONE


@cli.command()
@click.argument("formula", type=click.Path(allow_dash=True))
@click.option("--samples", metavar="FILE", type=click.Path(), help="JSON with now, variables and samples of metrics.")
@click.option("--at", metavar="TIME", help="Evaluate at this UTC time instead of the file's now.")
def autoscale(formula: str, samples: str | None, at: str | None) -> int:
    """Evaluate the autoscale formula in the file FORMULA (- is stdin).

    Prints the results string of the service. A formula that is refused or fails is status 1, with the line, the
    column and a caret.

    \b
    A samples file has seconds before now and values; what it leaves out is unknown:
      {"now": "2026-01-05T09:00:00Z", "variables": {"$TargetDedicatedNodes": 4},
       "samples": {"$PendingTasks": [[60, 12], [30, 9], [0, 7]]}}

    \b
    Examples:
      batchdeck autoscale formula.txt --samples samples.json
      echo '$TargetDedicatedNodes = time().hour < 18 ? 8 : 1;' | batchdeck autoscale - --at 2026-01-05T20:00:00Z
    """
    from tui.cli.autoscale import FormulaFailed, results

    try:
        text = results(formula, samples, at)
    except FormulaFailed as failure:
        echo(str(failure), err=True)
        return FAILED
    echo(text)
    return DONE


for _command in (compare, completion, docs, import_history, play_tests, rules, serve, sizes, study, why):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; without ``arguments``, those of the process."""
    from tui.saving.targets import standard_streams

    with standard_streams():
        status = _status(arguments)
        if interrupts.has_come():
            discard_all()
        return status


def _status(arguments: Sequence[str] | None) -> int:
    from tui.saving.targets import TargetError

    try:
        status: int = cli.main(arguments, prog_name="batchdeck", standalone_mode=False) or DONE
        sys.stdout.flush()
        return status
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        echo(with_short_words(message.getvalue()), err=True, nl=False)
        return error.exit_code
    except TargetError as error:
        echo(f"Error: {with_short_words(str(error))}", err=True)
        return WRONG if error.before_run else FAILED
    except Exception as error:
        # click wraps an interrupt, and so does Python 3.11 while it makes a class. Others may follow from it.
        if isinstance(error, click.Abort) or isinstance(error.__cause__, KeyboardInterrupt) or interrupts.has_come():
            with suppress(OSError):  # the terminal may be gone
                echo("Interrupted.", err=True)
            return INTERRUPTED
        error.add_note(f"This is a defect of batchdeck. To reproduce it: {shlex.join(sys.argv)}")
        sys.excepthook = print_defect
        raise
