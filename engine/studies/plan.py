"""The plan of a study: its factors, seeds and variants, from the scenario's ``study`` and the command line."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from importlib import metadata
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import shortened
from engine.scenario.factors import (
    Factor,
    FactorMistake,
    Varied,
    parse_path,
    parse_values,
    repeats,
    split_option,
)
from engine.scenario.files import ScenarioSource, decode
from engine.scenario.locations import locate
from engine.scenario.tree import Tree, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.base.terms import Plain
    from engine.scenario.model import Scenario

DEFAULT_SEEDS = tuple(range(1, 21))
"""The seeds of a study that names none: 19 of 20 is the usual question."""


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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def planned(
    scenario: Scenario, options: Sequence[str] = (), *, seeds: tuple[int, ...] | None = None, version: str = ""
) -> Study:
    """Return the study of a scenario: its own factors, and those of ``options``, each ``PATH=VALUES``.

    A path that the scenario varies too gets the values of the option. ``seeds`` win over those of the scenario.

    Raises:
        ScenarioError: Options or files of values have mistakes; all of them are listed.
    """
    source, section = scenario.source, scenario.study
    root = parse(source.text, lambda *_: None)
    assert root is not None
    problems: list[Problem] = []
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
    identity = Identity(_hash(source.text), _hash(json.dumps(varied)), version)
    return Study(source, tuple(factors), seeds or section.seeds or DEFAULT_SEEDS, identity)


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
        return decode(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FactorMistake(f"cannot read {shortened(str(path))}: {reason}") from None
    except ScenarioError as error:
        raise FactorMistake(str(error)) from None
