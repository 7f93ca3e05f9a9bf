"""What somebody wants to be studied: factors, seeds and a file of results, as they were typed."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import quoted, shortened
from engine.scenario.factors import FactorMistake
from engine.scenario.study import parse_seeds
from engine.scenario.wording import did_you_mean
from engine.studies.plan import installed_version, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.scenario.model import Scenario
    from engine.studies.plan import Study

OPTIONS = ("--vary", "--seeds", "--results")
RUN_LIMIT = 100_000
"""More runs than these are for the command line."""
SEEDS, RESULTS = "seeds", "results"


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """The factors, each ``PATH=VALUES``, seeds such as ``20`` or ``1..20``, and a file; as the command takes them."""

    vary: tuple[str, ...] = ()
    seeds: str = ""
    results: str = ""

    @property
    def path(self) -> Path | None:
        """The file that collects the results."""
        return Path(self.results).expanduser() if self.results else None


def first_request(scenario: Scenario) -> StudyRequest:
    """Return the factors that the study of a variant needs beside those of the file."""
    return StudyRequest(() if scenario.variant is None else scenario.variant.options)


def parse_request(text: str, default: StudyRequest) -> StudyRequest:
    """Return the options in a line, as ``batchdeck study`` has them; without any, the default.

    Raises:
        ValueError: The line has other words. The message is a sentence.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} cannot be read: {error}.") from None
    if not words:
        return default
    vary: list[str] = []
    given = {SEEDS: "", RESULTS: default.results}
    left = iter(words)
    for word in left:
        name, sign, value = word.partition("=") if word.startswith("--") else ("--vary", "=", word)
        if name not in OPTIONS:
            raise ValueError(f"{quoted(name)} is no option of a study{did_you_mean(name, OPTIONS) or '.'}")
        value = value if sign else next(left, "")
        if not value:
            raise ValueError(f"{name} needs a value.")
        if name == "--vary":
            vary.append(value)
        else:
            given[name.removeprefix("--")] = value
    return StudyRequest(tuple(vary) or default.vary, given[SEEDS], given[RESULTS])


def plan(scenario: Scenario, request: StudyRequest) -> Study:
    """Return the study that is wanted.

    Raises:
        ScenarioError: What was typed has mistakes. The path of each problem is the option that has it.
    """
    problems: list[Problem] = []
    seeds = None
    try:
        seeds = parse_seeds(request.seeds) if request.seeds else None
    except FactorMistake as mistake:
        problems.append(Problem(str(mistake), f"--seeds {shortened(request.seeds)}"))
    study = None
    try:
        study = planned(scenario, request.vary, seeds=seeds, version=installed_version())
    except ScenarioError as error:
        problems += error.problems
    if study is not None and not problems:
        runs = study.variants * len(study.seeds)
        if runs > RUN_LIMIT:
            said = f"{study.variants:,} variants make {runs:,} runs; here at most {RUN_LIMIT:,} are played"
            problems.append(Problem(f"{said}: `batchdeck study --yes` plays so many", ""))
    if problems or study is None:
        raise ScenarioError(problems)
    return study


def field_of(problem: Problem, request: StudyRequest) -> str | int | None:
    """Return the field of a form that has a problem: the index of a factor, or ``SEEDS``; None for any other."""
    if problem.path.startswith("--seeds "):
        return SEEDS
    options = (at for at, option in enumerate(request.vary) if problem.path == f"--vary {shortened(option)}")
    return next(options, None)


def size_text(study: Study) -> str:
    """Return how large a study is: ``10 variants, 20 seeds: 200 runs``."""
    return " ".join(_sizes(study))


def _sizes(study: Study) -> Iterator[str]:
    variants, seeds = study.variants, len(study.seeds)
    yield f"{variants:,} variant{'s' * (variants != 1)},"
    yield f"{seeds:,} seed{'s' * (seeds != 1)}:"
    yield f"{variants * seeds:,} run{'s' * (variants * seeds != 1)}"
