"""Scenarios as tests: they are found in folders, played, and judged case by case.

Each entry of ``expect`` is a case, and the last case says that no command was refused, or accepted, unexpectedly. A
file with mistakes is one case, which is an error. Names of cases are unique in a file, on one line, and have no
character that XML forbids.

Files are found without the simulator, which is imported where they are played: the command line sends them to workers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple

from engine.base import runtime
from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.values import SECOND_MS, lazy_regex, shortened, with_short_words
from engine.scenario.text import SUFFIXES, content_of
from engine.scenario.tree import parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine.base.terms import Plain
    from engine.run.simulation import Simulation
    from engine.scenario.model import Scenario
    from engine.specs.prices import PriceFile
    from engine.views.diagnosis.concerns import AttentionItem

_NO_XML = lazy_regex(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHERS = ("node_modules", "__pycache__")  # folders that hold the files of other programs
_LINE = lazy_regex(r"(?:\A|[\r\n])[\ufeff\ufffd]*scenario:(?!\S)(.*)")
_OF_RESULTS = {"summary", "variants"}  # keys that only the results of a run or a study have beside ``scenario``
_MOST_LINES = 50
VALID, REFUSALS = "the scenario is valid", "no command is refused or accepted unexpectedly"
"""The names of the case of a file with mistakes, and of the last case of any other."""


# -- finding -----------------------------------------------------------------------------------------------------------


def scenarios_in(folder: str, on_error: Callable[[OSError], object]) -> Iterator[tuple[str, str]]:
    """Yield the scenarios in a folder, and in those below it, with their names as ``heading`` reads them.

    Hidden folders, virtual environments and ``node_modules`` are passed over, and links to folders are not followed.

    Args:
        folder: The folder. The paths of files in the present one, ``.``, do not begin with it.
        on_error: Is called with the error if a folder or a file cannot be read, or is a pipe or a device.
    """
    here = os.path.join(os.curdir, "") if folder == os.curdir else ""
    for above, folders, names in os.walk(folder, onerror=on_error):
        folders[:] = [name for name in sorted(folders) if not _is_foreign(above, name)]
        for file in (os.path.join(above, name).removeprefix(here) for name in sorted(names)):
            try:
                found = heading(file) if file.lower().endswith(SUFFIXES) else None
            except OSError as error:
                on_error(error)
            else:
                if found is not None:
                    yield file, found


def _is_foreign(above: str, name: str) -> bool:
    """Return whether a folder holds files of other programs."""
    return name.startswith(".") or name in _OTHERS or os.path.exists(os.path.join(above, name, "pyvenv.cfg"))


def heading(path: str) -> str | None:
    """Return the name of the scenario in a file, or None if the file has no top-level key ``scenario``.

    The results of a run or a study, as JSON, are no scenario. A file with mistakes of syntax counts as one if a line of
    it begins with ``scenario:``. The name is empty if it cannot be read from that line. Raises OSError.
    """
    text = content_of(path).replace(b"\0", b"").decode(errors="replace")  # UTF-16 has zero bytes between letters
    line = _LINE.search(text)
    if line is None and "scenario" not in text:
        return None
    tree, _ = parse_value(text if line is None else line[1])
    if line is not None:
        return tree.plain if tree is not None and isinstance(tree.plain, str) else ""
    found = tree.plain if tree is not None else None
    if not isinstance(found, dict) or not _OF_RESULTS.isdisjoint(found):
        return None
    return str(found["scenario"]) if "scenario" in found else None


# -- judging -----------------------------------------------------------------------------------------------------------

Outcome = Literal["passed", "failed", "error"]


class Case(NamedTuple):
    """A case: what is expected, and after the run whether it came, and what was seen.

    ``seed`` is that of the first run that breaks it, and ``why`` says in words what differs there. ``line`` and
    ``column`` are its place in the file, from 1.
    """

    name: str
    line: int
    column: int
    expected: Plain
    outcome: Outcome = "passed"
    seen: object = None
    seed: int | None = None
    why: str = ""

    @property
    def is_broken(self) -> bool:
        """True if it has failed, or is an error."""
        return self.outcome != "passed"


class Suite(NamedTuple):
    """A scenario that was tested.

    ``attention`` is what needs attention at the end of the runs, by their seeds, that were the first to break a case.
    ``problems`` are the mistakes and warnings of the file.
    """

    file: str
    name: str
    cases: Sequence[Case]
    attention: dict[int, list[AttentionItem]]
    problems: Sequence[Problem] = ()
    seeds: Sequence[int] = ()
    seconds: float = 0.0

    def merged(self, later: Suite) -> Suite:
        """Return the result of the runs of both; those of ``later`` have greater seeds."""
        for each in (self, later):
            if each.cases[0].outcome == "error":
                return each
        pairs = zip(self.cases, later.cases, strict=True)
        cases = [other if other.is_broken and not own.is_broken else own for own, other in pairs]
        seeds = {case.seed for case in cases}
        attention = {seed: items for seed, items in (self.attention | later.attention).items() if seed in seeds}
        return self._replace(cases=cases, attention=attention, seconds=self.seconds + later.seconds)


def lines_of(case: Case, suite: Suite) -> list[str]:
    """Return what differs, what was expected and what was seen; for a file with mistakes, these."""
    if case.outcome == "error":
        mistakes = [str(problem) for problem in suite.problems if problem.severity is Severity.ERROR]
        more = [f"{len(mistakes) - _MOST_LINES:,} more mistakes: see `batchdeck check`"]
        return mistakes if len(mistakes) <= _MOST_LINES else mistakes[:_MOST_LINES] + more
    head = f"{suite.file}:{case.line}:{case.column}: {case.why}"
    expected, seen = one_line(case.expected), one_line(case.seen)
    return [head, f"  expected: {expected}", f"  seen:     {seen}", f"  seed:     {case.seed}"]


def one_line(value: object) -> str:
    """Return a value as YAML in one line without characters that XML forbids; long texts in it are shortened."""
    from engine.scenario.record import flow_text

    return flow_text(_allowed(value))


def xml_text(text: str) -> str:
    """Return a text with U+FFFD for each character that XML forbids."""
    return _NO_XML.sub("\ufffd", text)


def _allowed(value: object) -> Plain:
    if isinstance(value, dict):
        return {shortened(xml_text(str(name))): _allowed(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_allowed(inner) for inner in value]
    return value if value is None or isinstance(value, int | float) else shortened(xml_text(str(value)))


def cases_of(scenario: Scenario) -> list[Case]:
    """Return the cases of a scenario that has not been played, in the order of the file."""
    first = min((entry.line for entry in scenario.timeline), default=1)
    found: dict[str, Case] = {}
    for one in scenario.expect:
        name = one_line(one.as_written)
        free = next(each for number in count(1) if (each := name if number == 1 else f"{name} ({number})") not in found)
        found[free] = Case(free, one.line, one.column, one.as_written)
    return [*found.values(), Case(REFUSALS, first, 1, {"refused": []})]


def judged(scenario: Scenario, seed: int | None = None) -> tuple[list[Case], Simulation]:
    """Play a scenario with a seed, its own without one, and return its cases with the run that is over."""
    from engine.run.simulation import Simulation

    simulation = Simulation(scenario, seed, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    *cases, refusals = cases_of(scenario)
    for at, judgement in enumerate(simulation.judgements()):
        met, seen = judgement.outcome.met, judgement.outcome.asked_for
        cases[at] = cases[at]._replace(seen=seen)
        if not met:
            from engine.views.diagnosis.expectations import row_of

            row = row_of(simulation, judgement)
            why = f"{row.subject} {row.when}" + (f": {row.difference}" if judgement.outcome.is_reached else "")
            cases[at] = cases[at]._replace(outcome="failed", seed=simulation.seed, why=why)
    return [*cases, _of_refusals(refusals, simulation)], simulation


def _of_refusals(case: Case, simulation: Simulation) -> Case:
    broken = [one for one in simulation.refusals if not one.announced]
    if not broken:
        return case._replace(seen={"refused": []})
    seen = [
        {"at": one.when_ms / SECOND_MS, "command": one.command.NAME, "of": one.subject, "code": one.seen}
        for one in broken
    ]
    commands = {id(one.command) for one in broken}
    lines = [entry.line for entry in simulation.scenario.timeline if id(entry.command) in commands]
    why = ", ".join(f"{one.command.NAME} of {one.subject}: {one.seen}" for one in broken)
    return case._replace(
        line=min(lines, default=case.line), outcome="failed", seen={"refused": seen}, seed=simulation.seed, why=why
    )


def wrong(file: str, problems: Sequence[Problem], warnings: Sequence[Problem] = ()) -> Suite:
    """Return the result of a file that cannot be played, with all its mistakes: one case, at the first of them."""
    first = problems[0]
    said = f"{first.path}: {first.message}" if first.path else first.message
    case = Case(VALID, max(first.line, 1), max(first.column, 1), None, "error", said, why=said)
    return Suite(file, "", [case], {}, [*problems, *warnings])


class SuiteRun(NamedTuple):
    """A scenario file with the seeds with which it is played, its own without them; loaded already, or to be loaded."""

    file: str
    seeds: Sequence[int] = ()
    scenario: Scenario | None = None


@dataclass(frozen=True, slots=True)
class CasePlayer:
    """What is the same for all files of a test run, and how they are played."""

    clock: Callable[[], float]  # in seconds
    strict: bool = False
    prices: PriceFile | None = None

    def player(self) -> CasePlayer:
        """Return itself: nothing has to be prepared."""
        return self

    def play(self, runs: Iterable[SuiteRun]) -> list[Suite]:
        """Play and judge files, one after the other."""
        with runtime.gc_relaxed():
            return [self._timed(run) for run in runs]

    def failed(self, run: SuiteRun, reason: str) -> Suite:
        """Return the result of a file that could not be played."""
        return wrong(run.file, [Problem(with_short_words(reason), file=run.file)])._replace(seeds=run.seeds)

    def _timed(self, run: SuiteRun) -> Suite:
        began_s = self.clock()
        try:
            suite = self._tested(run)
        except Exception as error:  # a run that fails is a result, and the others go on
            suite = self.failed(run, f"{type(error).__name__}: {error}")
        return suite._replace(seeds=run.seeds, seconds=self.clock() - began_s)

    def _tested(self, run: SuiteRun) -> Suite:
        from engine.scenario.load import load

        if os.path.exists(run.file) and not os.path.isfile(run.file):
            return self.failed(run, "is a pipe or a device, not a file")  # reading might wait without end
        try:
            scenario = run.scenario or load(run.file, strict=self.strict, prices=self.prices)
        except ScenarioError as error:
            return wrong(run.file, error.problems, error.warnings)
        found: Suite | None = None
        for seed in run.seeds or (None,):
            cases, simulation = judged(scenario, seed)
            attention = {}
            if any(case.is_broken for case in cases):
                from engine.views.diagnosis.concerns import Attention

                attention[simulation.seed] = Attention(simulation).items()
            suite = Suite(run.file, scenario.name, cases, attention, scenario.warnings)
            found = suite if found is None else found.merged(suite)
            if all(case.is_broken for case in found.cases):
                break
        assert found is not None
        return found
