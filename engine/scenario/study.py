"""Reading ``study``: the factors of a study, its seeds, and what its table shows beside the usual."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted
from engine.scenario.document import DocumentPlace
from engine.scenario.factors import (
    VALUE_LIMIT,
    Factor,
    FactorMistake,
    Varied,
    is_range,
    parse_path,
    parse_range,
    repeats,
)
from engine.scenario.locations import locate
from engine.scenario.sweep import check_keys
from engine.scenario.tree import Tree
from engine.scenario.wording import does_not_exist, shown

STUDY_KEYS = ("seeds", "vary", "measure")
MEASURES = (
    "makespanSeconds",
    "costUsd",
    "nodeHours",
    "slotUtilization",
    "failedTasks",
    "failedPreparations",
    "failedReleases",
    "waitSecondsMedian",
    "waitSecondsP95",
    "preparationSeconds",
)
"""The measures of each run of a study."""
SHORT_NAMES = {"makespan": "makespanSeconds", "cost": "costUsd"}
"""Measures by the names that expectations use."""

_SEEDS = lazy_regex(r"(-?\d{1,18})\.\.(-?\d{1,18})", re.ASCII)
_COUNT = lazy_regex(r"\d{1,18}", re.ASCII)


class JobEnd(NamedTuple):
    """The end of a job, as something that the table of a study shows."""

    job_id: str


class StudySection(NamedTuple):
    """The ``study`` of a scenario. Without ``seeds`` the command decides; ``shown`` are more columns of its table."""

    factors: tuple[Factor, ...] = ()
    seeds: tuple[int, ...] | None = None
    shown: tuple[str | JobEnd, ...] = ()


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of ``N``, which is 1 to N, or of ``A..B``.

    Raises:
        FactorMistake: It is neither, or too many.
    """
    found = _SEEDS.fullmatch(text.strip())
    if found is not None:
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise FactorMistake(f"{quoted(text)} runs backwards: write {last}..{first}")
    elif _COUNT.fullmatch(text.strip()):
        first, last = 1, int(text)
        if not last:
            raise FactorMistake("at least one seed is needed")
    else:
        raise FactorMistake(f"{quoted(text)} must be a number of seeds such as 20, or a range such as 1..20")
    if last - first >= VALUE_LIMIT:
        raise FactorMistake(f"more than {VALUE_LIMIT:,} seeds")
    return tuple(range(first, last + 1))


def read_study(root: DocumentPlace) -> StudySection:
    """Return the ``study`` of a scenario; report mistakes in it. An empty one if there is none."""
    place = root.get("study")
    if place is None or not check_keys(place, STUDY_KEYS):
        return StudySection()
    seeds, vary, measure = map(place.get, STUDY_KEYS)
    return StudySection(
        _read_factors(root, vary) if vary is not None else (),
        _read_seeds(seeds) if seeds is not None else None,
        _read_shown(measure) if measure is not None else (),
    )


def _read_seeds(place: DocumentPlace) -> tuple[int, ...] | None:
    value = place.plain
    if isinstance(value, list):
        whole = [seed for seed in value if isinstance(seed, int) and not isinstance(seed, bool)]
        if len(whole) < len(value) or not whole:
            place.report("must be a list of whole numbers, such as [1, 2, 3]")
            return None
        if len(set(whole)) < len(whole):
            place.report("lists a seed twice")
        return tuple(whole)
    if isinstance(value, bool) or not isinstance(value, int | str):
        place.report(f"must be a number of seeds, a range such as 1..20, or a list, not {shown(value)}")
        return None
    try:
        return parse_seeds(str(value))
    except FactorMistake as mistake:
        place.report(str(mistake))
        return None


def _read_factors(root: DocumentPlace, vary: DocumentPlace) -> tuple[Factor, ...]:
    if not isinstance(vary.tree.value, dict):
        vary.report("must be a mapping from paths to lists of values, such as {pools.p.vmSize: [a, b]}")
        return ()
    found = []
    for path, place in vary.items():
        trees = _read_values(place)
        try:
            steps = parse_path(path)
            locate(root.tree, steps)
        except FactorMistake as mistake:
            place.report(str(mistake), key=True)
            continue
        if trees:
            values = tuple(Varied(tree, tree) for tree in trees)
            found.append(Factor(path, steps, values, place.key_position or place.tree.position))
    return tuple(found)


def _read_values(place: DocumentPlace) -> list[Tree]:
    """Return the values of a factor; none if they have a mistake, which is reported."""
    value = place.tree.value
    if isinstance(value, str) and is_range(value):
        try:
            return [Tree(place.tree.position, number) for number in parse_range(value)]
        except FactorMistake as mistake:
            place.report(str(mistake))
        return []
    if not isinstance(value, list) or not value:
        place.report("must be a list of values such as [10, 20, 40], or a range such as 10..80:10")
        return []
    entries, twice = list(place.entries()), list(repeats(value))
    for at in twice:
        entries[at].report(f"{shown(entries[at].plain)} is listed twice")
    return [] if twice else value


def _read_shown(place: DocumentPlace) -> tuple[str | JobEnd, ...]:
    if not isinstance(place.tree.value, list):
        place.report("must be a list of measures such as [nodeHours, {jobId: risk, end}]")
    found: list[str | JobEnd] = []
    for entry in place.entries():
        value = entry.plain
        if isinstance(value, str):
            name = SHORT_NAMES.get(value, value)
            if name in MEASURES:
                found.append(name)
            else:
                entry.report(does_not_exist(value, (*MEASURES, *SHORT_NAMES)))
        elif isinstance(value, dict):
            job = entry.get("jobId")
            if not check_keys(entry, ("jobId", "end")) or job is None or not isinstance(job.plain, str):
                entry.report("must name a job: {jobId: risk, end}")
            else:
                found.append(JobEnd(job.plain))
        else:
            entry.report(f"must be a measure or {{jobId: ID, end}}, not {shown(value)}")
    return tuple(found)
