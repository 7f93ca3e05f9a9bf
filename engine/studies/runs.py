"""The runs of a study: their plan, the scenario of each variant, playing them, and the lines of their results.

Factors, seeds and variants come from the scenario's ``study`` and the command line. The values of a variant are put
into the document before it is read, so mistakes have places. Runs are played one after the other; each becomes one
JSON object on a line of the results, which may stand in any order and are checked before they are used again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from importlib import metadata
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from engine.base import runtime
from engine.base.errors import Problem, ScenarioError
from engine.base.values import shortened, visible_json, with_short_words
from engine.run.simulation import Simulation
from engine.scenario.load import load_tree
from engine.scenario.locations import (
    Factor,
    FactorMistake,
    Location,
    Placed,
    Varied,
    locate,
    parse_path,
    parse_values,
    repeats,
    split_option,
    with_values,
)
from engine.scenario.model import ChosenVariant, parse_seeds
from engine.scenario.record import flow_text, values_text
from engine.scenario.text import ScenarioSource, content_of, decode
from engine.scenario.tree import Tree, parse_valid
from engine.studies import measures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine.base.terms import Plain
    from engine.scenario.model import Scenario


DEFAULT_SEEDS = tuple(range(1, 21))
"""The seeds of a study that names none: with 20, a confidence of 95 % is 19 runs."""


def installed_version() -> str:
    """Return the version of batchdeck that plays runs here."""
    try:
        return metadata.version("batchdeck")
    except metadata.PackageNotFoundError:  # used from a copy of its files
        return "unknown"


class Run(NamedTuple):
    """A run of a study: a variant, counted from 1, and a seed."""

    variant: int
    seed: int


class StudyState(Enum):
    """The state of a study that is played in the background."""

    CHECKING = auto()  # its variants are read, while the workers begin
    PLAYING = auto()
    DONE = auto()
    STOPPED = auto()  # on request; it can be continued
    FAILED = auto()


class Identity(NamedTuple):
    """The properties that all runs of one study share, beside the seeds: hashes, and the version of the engine."""

    scenario: str
    factors: str
    version: str


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A scenario file, and what a study varies in it. Variants are every combination of the values."""

    source: ScenarioSource
    factors: tuple[Factor, ...]
    seeds: tuple[int, ...]
    identity: Identity

    @property
    def variants(self) -> int:
        """The number of variants."""
        return prod(len(factor.values) for factor in self.factors)

    def varied(self, variant: int) -> tuple[Varied, ...]:
        """Return the value of each factor in a variant; the last factor varies fastest."""
        rest, found = variant - 1, list[Varied]()
        for factor in reversed(self.factors):
            rest, at = divmod(rest, len(factor.values))
            found.append(factor.values[at])
        return tuple(reversed(found))

    def values(self, variant: int) -> dict[str, Plain]:
        """Return the values of a variant as they were written, by path."""
        chosen = self.varied(variant)
        return {factor.path: one.written.plain for factor, one in zip(self.factors, chosen, strict=True)}

    def with_each_value(self) -> list[int]:
        """Return variants that together have every value of each factor, the others having their first."""
        found, stride = {1}, 1
        for factor in reversed(self.factors):
            found.update(1 + at * stride for at in range(len(factor.values)))
            stride *= len(factor.values)
        return sorted(found)

    def runs(self) -> Iterator[Run]:
        """Yield every run, variant by variant."""
        for variant in range(1, self.variants + 1):
            yield from (Run(variant, seed) for seed in self.seeds)

    def player(self) -> Player:
        """Return the player of its runs, for one process."""
        return Player(self)

    def failed(self, run: Run, reason: str) -> str:
        """Return the line of a run that could not be played."""
        return _line(self, run, {"expectations": [], "summary": None, "jobs": {}, "error": reason})


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def planned(scenario: Scenario, options: Sequence[str] = (), *, seeds: str | None = None, version: str = "") -> Study:
    """Return the study of a scenario: its own factors, and those of ``options``, each ``PATH=VALUES``.

    A path that the scenario varies too gets the values of the option. ``seeds`` are those of an option, such as ``20``
    or ``1..20``, and win over those of the scenario.

    Raises:
        ScenarioError: Options or files of values have mistakes; all of them are listed.
    """
    source, section = scenario.source, scenario.study
    root = parse_valid(source.text)
    problems: list[Problem] = []
    chosen = None
    try:
        chosen = None if seeds is None else parse_seeds(seeds)
    except FactorMistake as mistake:
        problems.append(Problem(str(mistake), f"--seeds {shortened(seeds or '')}"))
    factors = list(section.factors)
    for option in options:
        try:
            given = _given(root, option)
        except FactorMistake as mistake:
            problems.append(Problem(str(mistake), f"--vary {shortened(option)}"))
            continue
        same = next((at for at, factor in enumerate(factors) if factor.steps == given.steps), None)
        if same is None:
            factors.append(given)
        else:
            factors[same] = given
    problems += _repeated(root, factors, source)
    factors = [_with_files(factor, source, problems) for factor in factors]
    if problems:
        raise ScenarioError(problems)
    varied = [[one.path, [[value.written.plain, value.value.plain] for value in one.values]] for one in factors]
    prices = None if scenario.prices is None else scenario.prices.file
    text = source.text if prices is None else source.text + prices.text
    if any(factor.steps[:2] == ("account", "prices") for factor in factors):
        prices = source.prices
    identity = Identity(_hash(text), _hash(json.dumps(varied)), version)
    return Study(replace(source, prices=prices), tuple(factors), chosen or section.seeds or DEFAULT_SEEDS, identity)


def _given(root: Tree, option: str) -> Factor:
    """Return the factor of an option. Raises FactorMistake."""
    path, text = split_option(option)
    steps = parse_path(path)
    locate(root, steps)
    values = parse_values(text)
    twice = next(repeats(values), None)
    if twice is not None:
        raise FactorMistake(f"{shortened(json.dumps(values[twice].plain, sort_keys=True))} is listed twice")
    return Factor(path, steps, tuple(Varied(value, value) for value in values), option=option)


def _repeated(root: Tree, factors: Sequence[Factor], source: ScenarioSource) -> Iterator[Problem]:
    """Yield a problem for each factor that varies the place of an earlier one, by another path."""
    known: dict[tuple[str | int, ...], Factor] = {}
    for factor in factors:
        at = locate(root, factor.steps).at
        if at in known:
            yield _problem(factor, f"varies the same as {known[at].path}", source)
        known.setdefault(at, factor)


def _problem(factor: Factor, message: str, source: ScenarioSource) -> Problem:
    if factor.option:
        return Problem(message, f"--vary {shortened(factor.option)}")
    return Problem(message, factor.path, factor.position.line, factor.position.column, source.path)


def _with_files(factor: Factor, source: ScenarioSource, problems: list[Problem]) -> Factor:
    """Return the factor with the texts of the files that its values name as ``{file: PATH}``."""
    values = list(factor.values)
    for at, (written, _) in enumerate(factor.values):
        plain = written.plain
        named = plain.get("file") if isinstance(plain, dict) and len(plain) == 1 else None
        if isinstance(named, str):
            try:
                values[at] = Varied(written, Tree(written.position, _text_of(named, factor, source)))
            except FactorMistake as mistake:
                problems.append(_problem(factor, str(mistake), source))
    return replace(factor, values=tuple(values))


def _text_of(name: str, factor: Factor, source: ScenarioSource) -> str:
    """Return the text of a file; names in a scenario are relative to its directory. Raises FactorMistake."""
    path = Path(name) if factor.option else Path(source.path).parent / name
    try:
        return decode(content_of(path), str(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FactorMistake(f"cannot read {shortened(str(path))}: {reason}") from None
    except ScenarioError as error:
        raise FactorMistake(str(error)) from None


_LIMIT = 1_000


class Variants:
    """A reader of the variants of a study. The text of the scenario is parsed once."""

    def __init__(self, study: Study) -> None:
        """Parse the scenario, which must be valid."""
        self.study = study
        self._root = _without_study(parse_valid(study.source.text))
        self._locations: list[Location] = [locate(self._root, factor.steps) for factor in study.factors]
        values = (varied.value.plain for factor in study.factors for varied in factor.values)
        self._words = "\n".join((study.source.text, *(one.path for one in study.factors), *map(flow_text, values)))

    def scenario(self, variant: int) -> Scenario:
        """Return the scenario of a variant, to be run.

        Raises:
            ScenarioError: Its values are not valid, with their positions in the file.
        """
        return load_tree(self.study.source, self._document(variant), self._words)

    def chosen(self, variant: int, scenario: Scenario) -> Scenario:
        """Return a variant of ``scenario`` that says which one it is; without factors that is the scenario itself.

        Raises:
            ScenarioError: Its values are not valid, with their positions in the file.
        """
        study = self.study
        if not study.factors:
            return scenario
        document = self._document(variant)
        options = tuple(factor.option for factor in study.factors if factor.option)
        found = ChosenVariant(variant, study.values(variant), options, document)
        return replace(load_tree(study.source, document, self._words), variant=found, study=scenario.study)

    def _document(self, variant: int) -> Tree:
        study = self.study
        placed = (
            Placed(location, varied.value, factor.position)
            for factor, location, varied in zip(study.factors, self._locations, study.varied(variant), strict=True)
        )
        return with_values(self._root, placed)

    def check(self, *, each_value_once: bool = False, between: Callable[[], object] = lambda: None) -> None:
        """Read every variant, or only as many as it takes to have each value of each factor in one of them.

        Args:
            each_value_once: Read only as many variants as have each value.
            between: Is called after each variant; an error that it raises ends the check.

        Raises:
            ScenarioError: Some variants have mistakes. Each mistake is listed once, with the first variant that has it.
        """
        found: dict[tuple[int, int, str, str], Problem] = {}
        for variant in self.study.with_each_value() if each_value_once else range(1, self.study.variants + 1):
            try:
                self.scenario(variant)
            except ScenarioError as error:
                for problem in error.problems:
                    where = problem.line, problem.column, problem.path, problem.message
                    if where not in found:
                        named = f"variant {variant}: {values_text(self.study.values(variant))}"
                        found[where] = problem._replace(message=f"{problem.message} ({named})")
            if len(found) >= _LIMIT:
                break
            between()
        if found:
            raise ScenarioError([found[where] for where in sorted(found)])


def chosen_again(scenario: Scenario, before: ChosenVariant) -> Scenario:
    """Return the variant that was chosen before the file of the scenario was edited: the one with the same values.

    If no variant has them any more, it is the one with the same number.

    Raises:
        ScenarioError: There are no longer so many variants, or the factors or values are not valid.
    """
    study = planned(scenario, before.options)
    same = (number for number in range(1, study.variants + 1) if study.values(number) == before.values)
    number = next(same, before.number)
    if number > study.variants:
        gone = f"there is no variant {number:,} any more, the last is {study.variants:,}"
        raise ScenarioError([Problem(gone, "study", file=scenario.source.path)])
    return Variants(study).chosen(number, scenario)


def _without_study(root: Tree | None) -> Tree:
    """Return the document without its ``study``, whose paths are those of the document as written."""
    assert root is not None
    assert isinstance(root.value, dict)
    kept = {key: value for key, value in root.value.items() if key != "study"}
    return Tree(root.position, kept, {key: root.keys[key] for key in kept})


BEGINNING = '{"variant": '
"""The beginning of every line."""


class Result(TypedDict):
    """The result of a run. ``summary`` is None, and ``error`` says why, if it failed."""

    variant: int
    values: dict[str, Plain]
    seed: int
    expectations: list[bool]
    summary: dict[str, float | None] | None
    jobs: dict[str, dict[str, float | None]]
    error: str | None


def read(line: str) -> Result:
    """Return the result in a line that this version has written."""
    result: Result = json.loads(line)
    return result


KEPT_VARIANTS = 8
"""The most variants that are kept as scenarios. A few are enough, since runs come variant by variant."""


class Player:
    """Plays runs of a study. The scenario's text is parsed once, each variant read when its first run is played."""

    def __init__(self, study: Study) -> None:
        """Parse the scenario."""
        self._study = study
        self._scenario: Callable[[int], Scenario] = lru_cache(KEPT_VARIANTS)(Variants(study).scenario)

    def play(self, runs: Iterable[Run]) -> list[str]:
        """Return the lines of these runs. They depend on scenario, variant and seed alone."""
        with runtime.gc_relaxed():
            return [self._line(run) for run in runs]

    def _line(self, run: Run) -> str:
        try:
            measured = _measured(self._scenario(run.variant), run.seed)
        except Exception as error:  # a run that fails is a result, and the others go on
            return self._study.failed(run, with_short_words(f"{type(error).__name__}: {error}"))
        return _line(self._study, run, measured | {"error": None})


def _measured(scenario: Scenario, seed: int) -> dict[str, object]:
    simulation = Simulation(scenario, seed, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return {
        "expectations": [outcome.met for outcome in simulation.expectations],
        "summary": measures.summary(simulation),
        "jobs": measures.job_ends(simulation),
    }


def _line(study: Study, run: Run, measured: dict[str, object]) -> str:
    values: dict[str, Plain] = study.values(run.variant)
    head: dict[str, object] = {"variant": run.variant, "values": values, "seed": run.seed}
    return visible_json(json.dumps(head | measured | {"study": study.identity._asdict()}, ensure_ascii=False))


_BEFALLS = ("evictNode", "failNode", "capacity", "storageOutage", "guestOSRelease")  # commands that nobody gives


def held_paths(study: Study) -> list[str]:
    """Return the factors that nobody chooses, each value of which has a recommendation."""
    return [factor.path for factor in study.factors if len(factor.values) > 1 and _is_given(factor.path)]


def _is_given(path: str) -> bool:
    """Return whether nobody chooses what a path names: how long things take and fail, faults, prices, the seed."""
    steps = path.split(".")
    return steps[0] in ("seed", "options") or not {"simulate", "prices", *_BEFALLS}.isdisjoint(steps)
