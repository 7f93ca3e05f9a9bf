"""The search for the best variant of a study with fewer runs than all of them.

Each variant is played with one seed, or an even part of them if that would be too much. The promising ones get twice as
many seeds in each round, until the cheapest that keeps the expectations has all of them; those that have broken them
too often are out. Where variants were left out, the neighbours of good ones along each factor are played too. A round
depends on the results of earlier rounds alone, so neither workers nor interruptions change what is played.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from math import ceil, inf
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import USD
from engine.studies.measures import DONE_COST
from engine.studies.outcome import amount_of
from engine.studies.runs import Run, held_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine.studies.runs import Result, Study


SHARE = 0.15
"""The most of all runs that a search plays, unless it has found no variant by then that keeps the expectations."""
_WHOLE = 4  # so many variants with all seeds there must be room for, beside the first round
_LEAST, _PART = 4, 12  # runs of a round: so many, or the number of variants divided by this


def rounds(
    study: Study, played: Mapping[Run, Result], confidence: float | None, currency: str = USD
) -> Iterator[list[Run]]:
    """Yield the runs that are missing, round by round: those of a search, or without ``confidence`` all at once.

    The results of a round have to be in ``played`` before the next one is asked for. A search takes no notice of other
    results. Each combination of values that nobody chooses is searched on its own.
    """
    searches = [] if confidence is None else _searches(study, confidence)
    parts = [one.rounds(played, currency) for one in searches] or [iter([list(study.runs())])]
    while wanted := list(chain.from_iterable(next(each, ()) for each in parts)):
        if missing := [run for run in wanted if run not in played]:
            yield missing


def most_runs(study: Study, confidence: float | None) -> int:
    """Return how many runs a study has, or its search if it finds a variant that keeps the expectations by then."""
    runs = study.variants * len(study.seeds)
    return runs if confidence is None else sum(one.budget for one in _searches(study, confidence))


class _Axis(NamedTuple):
    """A factor that is searched, and how far apart its values are in the numbers of variants."""

    stride: int
    size: int

    def level(self, variant: int) -> int:
        return (variant - 1) // self.stride % self.size

    def along(self, variants: Iterable[int]) -> list[int]:
        """Return variants with each value in place of the first one."""
        return [one + at * self.stride for one in variants for at in range(self.size)]


def _searches(study: Study, confidence: float) -> list[_Search]:
    held, stride = held_paths(study), 1
    cases, axes = [1], list[_Axis]()
    for factor in reversed(study.factors):
        axis = _Axis(stride, len(factor.values))
        stride *= axis.size
        if factor.path in held:
            cases = axis.along(cases)
        else:
            axes.append(axis)
    return [_Search(one, axes, study.seeds, confidence) for one in sorted(cases)]


class _Search:
    """The search among the variants that have the same values of what nobody chooses."""

    def __init__(self, first: int, axes: Sequence[_Axis], seeds: Sequence[int], confidence: float) -> None:
        self._axes = axes
        self._seeds = seeds
        self._confidence = confidence
        self._keeps = defaultdict[int, dict[int, bool]](dict)  # by variant and seed
        self._costs = defaultdict[int, dict[int, float]](dict)
        variants, count = [first], len(seeds)
        for axis in axes:
            variants = axis.along(variants)
        self._variants = sorted(variants)
        self._most_broken = max(broken for broken in range(count + 1) if (count - broken) / count >= confidence)
        self.budget = int(SHARE * len(variants) * count)
        half = self.budget // 2
        near = 2 * sum(axis.size.bit_length() for axis in axes) if half < len(variants) else 0
        self._step = ceil(len(variants) / max(1, half))  # between the variants of the first round
        if min(half, len(variants)) + near + _WHOLE * count > self.budget:
            self._step, self.budget = 0, len(variants) * count  # so few that all runs are played

    def rounds(self, played: Mapping[Run, Result], currency: str) -> Iterator[list[Run]]:
        """Yield the runs of each round."""
        step = max(1, self._step)
        first = [one for one in self._variants if sum(axis.level(one) for axis in self._axes) % step == 0]
        wanted = [Run(variant, seed) for variant in first for seed in self._seeds[: 1 if self._step else None]]
        while wanted:
            yield wanted
            for run in wanted:
                result = played[run]
                self._keeps[run.variant][run.seed] = result["error"] is None and all(result["expectations"])
                cost = None if result["summary"] is None else amount_of(result["summary"], currency, DONE_COST)
                if cost is not None:
                    self._costs[run.variant][run.seed] = cost
            wanted = self._next()

    def _next(self) -> list[Run]:
        """Return the runs of the next round; none if there is nothing left to gain, or too much has been played."""
        keeps, costs, count = self._keeps, self._costs, len(self._seeds)
        broken = {one: list(known.values()).count(False) for one, known in keeps.items()}
        alive = [one for one in keeps if broken[one] <= self._most_broken]
        whole = [one for one in alive if costs[one] and len(keeps[one]) == count]
        best = min(whole, key=lambda one: (median(costs[one].values()), one), default=None)
        most = room = self.budget - sum(map(len, keeps.values()))
        if best is None:  # then one variant is to have all seeds
            most, room = max(1, room - count), max(room, count)
        other = costs[max(keeps, key=lambda one: (len(costs[one]), -one)) if best is None else best]
        dearer = {
            one: median([cost - other[seed] for seed, cost in costs[one].items() if seed in other] or [inf])
            for one in alive
        }

        def rank(one: int) -> tuple[float, float, int]:
            known = len(keeps[one])
            return max(0.0, self._confidence - (known - broken[one] + 1) / (known + 1)), dearer[one], one

        chosen = [one for one in alive if len(keeps[one]) < count and (best is None or dearer[one] < 0)]
        chosen.sort(key=rank)
        if best is not None:
            chosen = [best, *chosen, *sorted(whole, key=rank)]  # for their neighbours
        chosen = chosen or [one for one in self._variants if one not in keeps]
        return self._extended(chosen, min(most, max(_LEAST, len(self._variants) // _PART)))[:room]

    def _extended(self, variants: Iterable[int], most: int) -> list[Run]:
        """Return about ``most`` runs: as many again as each variant has had, and one of each neighbour without any.

        Seeds with which many variants have broken expectations come first, since they soon show which ones will.
        """
        broken = {seed: [known[seed] for known in self._keeps.values() if seed in known] for seed in self._seeds}
        order = sorted(self._seeds, key=lambda seed: -(broken[seed].count(False) + 0.5) / (len(broken[seed]) + 1))
        found: dict[Run, None] = {}
        for one in variants:
            if len(found) < most:
                known = self._keeps.get(one, {})
                missing = [Run(one, seed) for seed in order if seed not in known]
                near = [Run(other, order[0]) for other in self._around(one)]
                found |= dict.fromkeys([*missing[: max(1, len(known))], *near])
        return list(found)

    def _around(self, variant: int) -> Iterator[int]:
        """Yield neighbours of a variant without runs, along each factor halfway to the next variants that have some."""
        for axis in self._axes:
            level = axis.level(variant)
            line = axis.along([variant - level * axis.stride])
            below = next((at for at in reversed(range(level)) if line[at] in self._keeps), -1)
            above = next((at for at in range(level + 1, axis.size) if line[at] in self._keeps), axis.size)
            near = line[(below + level + 1) // 2], line[(level + above) // 2]
            yield from (one for one in near if one not in self._keeps)
