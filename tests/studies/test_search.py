"""Tests of the search for the best variant, with outcomes of runs that are made up: thousands of them cost nothing."""

from __future__ import annotations

import csv
import io
import math
import random
from functools import cache
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.base.values import percentile
from engine.scenario.model import MEASURES
from engine.studies.outcome import as_json, summarize
from engine.studies.runs import Run
from engine.studies.search import SHARE, most_runs, rounds
from tui.cli.studying import csv_text, drawn, study_text
from tui.saving.console import console

NODES = "pools.render.targetDedicatedNodes"
SLOTS = "pools.render.taskSlotsPerNode"
SIZE = "pools.render.vmSize"
RETRIES = "jobs.shot-1.constraints.maxTaskRetryCount"
RATE = "simulate.spot.evictionRate"
PRICES = {"standard_d2s_v3": (1.0, 0.1), "standard_f4s_v2": (2.1, 0.17), "standard_d8s_v5": (3.7, 0.4)}
SIZES = f"{SIZE}={','.join(PRICES)}"
TWENTY = tuple(range(1, 21))


class MadeUp:
    """Outcomes of runs, as a function of variant and seed. A deadline is kept by a part ``kept`` of the variants.

    ``night`` is how much the work differs between seeds, ``own`` how much of it is chance, ``fails`` how often a task
    fails without a retry, ``hourly`` a cost for each hour, which makes that of more nodes fall before it rises.
    """

    def __init__(self, study, *, night=0.1, own=0.0, fails=0.0, kept=0.5, hourly=0.0):
        self.study, self._night, self._own, self._fails, self._hourly = study, night, own, fails, hourly
        self._hours_of = cache(self._hours)
        middle = sorted(median(self._hours_of(one, seed) for seed in study.seeds) for one in self.variants)
        self._due = percentile(middle, kept)

    @property
    def variants(self):
        return range(1, self.study.variants + 1)

    def _chance(self, *key):
        return random.Random(repr(key))

    def _hours(self, variant, seed):
        values = self.study.values(variant)
        speed, _ = PRICES[values.get(SIZE, "standard_d2s_v3")]
        slots = values.get(SLOTS, 1) ** 0.7
        work = 40 * math.exp(self._chance("night", seed).gauss(0, self._night))
        work *= math.exp(self._chance("own", variant, seed).gauss(0, self._own)) * (1 + values.get(RATE, 0))
        return 0.2 + work / (values.get(NODES, 4) * speed * slots)

    def __call__(self, run):
        values = self.study.values(run.variant)
        hours, (_, price) = self._hours_of(*run), PRICES[values.get(SIZE, "standard_d2s_v3")]
        fails = self._fails ** (1 + values.get(RETRIES, 0)) if self._fails else 0
        keeps = hours <= self._due and self._chance("fails", run.seed).random() >= fails
        cost = hours * (values.get(NODES, 4) * price * (1 + 0.1 * values.get(SLOTS, 1)) + self._hourly)
        summary = dict.fromkeys(MEASURES, 0.0) | {"costUsd": round(cost, 6), "makespanSeconds": hours * 3600}
        return {
            "variant": run.variant,
            "values": values,
            "seed": run.seed,
            "expectations": [keeps],
            "summary": summary,
            "jobs": {},
            "error": None,
        }

    def searched(self, confidence=0.95, played=None):
        """Return the results of a search, which begins with those that there are."""
        played = {} if played is None else played
        for wanted in rounds(self.study, played, confidence):
            assert len(set(wanted)) == len(wanted)
            assert not played.keys() & set(wanted)
            played |= {run: self(run) for run in wanted}
        return played

    def summary(self, results, confidence=0.95):
        return summarize(self.study, "night", results, confidence=confidence)

    def grid(self, confidence=0.95):
        return self.summary(map(self, self.study.runs()), confidence)


STUDIES = {
    "nodes": ([f"{NODES}=1..60"], {}),
    "nodes without chance": ([f"{NODES}=1..60"], {"night": 0}),
    "nodes of wild nights": ([f"{NODES}=1..60"], {"night": 0.4}),
    "nodes in steps": ([f"{NODES}=10..200:2"], {"night": 0.2, "own": 0.01}),
    "a fall before a rise": ([f"{NODES}=1..60"], {"hourly": 3.0, "kept": 0.9}),
    "a fall before a rise, and chance": ([f"{NODES}=1..80"], {"hourly": 2.0, "kept": 0.8, "own": 0.01}),
    "tasks that fail": ([f"{NODES}=1..12", f"{RETRIES}=0..4"], {"fails": 0.3}),
    "tasks that fail, and a deadline": ([f"{NODES}=1..20", f"{RETRIES}=0..3"], {"fails": 0.2, "kept": 0.3}),
    "sizes": ([f"{NODES}=1..20", SIZES], {}),
    "sizes first": ([SIZES, f"{NODES}=1..20"], {"own": 0.02}),
    "sizes and slots": ([f"{NODES}=1..10", SIZES, f"{SLOTS}=1,2,4"], {"night": 0.2}),
    "slots": ([f"{NODES}=1..20", f"{SLOTS}=1..4"], {"own": 0.01}),
    "four factors": ([f"{NODES}=2..9", SIZES, f"{SLOTS}=1,2", f"{RETRIES}=0..2"], {"fails": 0.2}),
    "a tight deadline": ([f"{NODES}=1..60"], {"kept": 0.3, "night": 0.2}),
    "a loose deadline": ([f"{NODES}=1..20", SIZES], {"kept": 1.0, "night": 0.3}),
    "two rates of evictions": ([f"{RATE}=0.05,0.5", f"{NODES}=1..50"], {"night": 0.2}),
    "rates last": ([f"{NODES}=1..45", f"{RATE}=0,0.1,1"], {"own": 0.01}),
    "half of the runs": ([f"{NODES}=1..60"], {"confidence": 0.5, "night": 0.3}),
    "eight of ten runs": ([f"{NODES}=1..20", SIZES], {"confidence": 0.8, "night": 0.3}),
    "five seeds": ([f"{NODES}=1..24", SIZES, f"{SLOTS}=1..4"], {"seeds": TWENTY[:5], "own": 0.01}),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_search_finds_a_variant_as_cheap_as_the_best_with_a_part_of_the_runs(night, name):
    factors, more = STUDIES[name]
    more = {**more}
    confidence = more.pop("confidence", 0.95)
    made_up = MadeUp(night(*factors, seeds=more.pop("seeds", TWENTY)), **more)
    played = made_up.searched(confidence)
    found, best = made_up.summary(played.values(), confidence), made_up.grid(confidence)
    assert len(played) <= SHARE * most_runs(made_up.study, None)
    assert len(played) <= most_runs(made_up.study, confidence)
    assert best.recommended is not None
    assert len(found.advice) == len(best.advice)
    for here, there in zip(found.advice, best.advice, strict=True):
        assert here.values == there.values
        cost, least = (one.variants[each.recommended - 1].cost.median for one, each in ((found, here), (best, there)))
        assert cost <= 1.03 * least


@pytest.mark.parametrize(
    ("nodes", "seeds", "is_whole"), [(39, 20, True), (40, 20, False), (200, 1, True), (900, 1, False)]
)
def test_a_study_of_few_runs_is_played_whole(night, nodes, seeds, is_whole):
    made_up = MadeUp(night(f"{NODES}=1..{nodes}", seeds=TWENTY[:seeds]))
    played = made_up.searched()
    assert (len(played) == nodes * seeds) is is_whole
    assert is_whole is (most_runs(made_up.study, 0.95) == nodes * seeds == most_runs(made_up.study, None))


class Thrown(MadeUp):
    """Outcomes without any order: each variant keeps expectations, fails inside and costs what chance has given it."""

    def __init__(self, study, number):
        self.study, self._number = study, number

    def __call__(self, run):
        of_study, of_variant = self._chance(self._number), self._chance(self._number, run.variant)
        chance = self._chance(self._number, *run)
        keeps, breaks, cost = of_study.random(), of_study.choice((0, 0.05)), of_variant.uniform(1, 10)
        share = of_variant.random() ** keeps
        summary = dict.fromkeys(MEASURES, 0.0) | {"costUsd": round(cost * chance.uniform(0.9, 1.1), 6)}
        has_failed = chance.random() < breaks
        return {
            "variant": run.variant,
            "values": self.study.values(run.variant),
            "seed": run.seed,
            "expectations": [] if has_failed else [chance.random() < share, True],
            "summary": None if has_failed else summary,
            "jobs": {},
            "error": "ValueError: no such thing" if has_failed else None,
        }


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(0, 10**9), confidence=st.sampled_from([0, 0.5, 0.8, 0.95, 1]), seeds=st.sampled_from([1, 7, 20])
)
def test_what_is_recommended_keeps_the_expectations_and_nothing_is_only_if_no_variant_does(
    night, number, confidence, seeds
):
    thrown = Thrown(night(f"{NODES}=1..15", f"{SLOTS}=1..4", seeds=TWENTY[:seeds]), number)
    found, whole = thrown.summary(thrown.searched(confidence).values(), confidence), thrown.grid(confidence)
    assert (found.recommended is None) is (whole.recommended is None)
    if found.recommended is not None:
        assert whole.variants[found.recommended - 1].met.share >= confidence
        assert found.variants[found.recommended - 1].cost == whole.variants[found.recommended - 1].cost
    else:
        assert found.nearest is not None


def test_a_search_goes_on_from_any_results_to_the_same_end(night):
    made_up = MadeUp(night(f"{NODES}=1..30", SIZES, seeds=TWENTY), own=0.02)
    at_once = made_up.searched()
    for count in (0, 1, 89, 90, 91, 120, len(at_once) - 1, len(at_once)):
        kept = dict(list(at_once.items())[:count])
        assert made_up.searched(played=dict(reversed(kept.items()))).keys() == at_once.keys()


def test_results_of_other_runs_do_not_lead_a_search_astray(night):
    made_up = MadeUp(night(f"{NODES}=1..60", seeds=TWENTY))
    others = {Run(variant, 17): made_up(Run(variant, 17)) for variant in made_up.variants}
    assert made_up.searched(played=dict(others)).keys() == made_up.searched().keys() | others.keys()


def test_what_nobody_chooses_is_not_searched(night):
    rates = (0.05, 0.5)
    both = MadeUp(night(f"{NODES}=1..60", f"{RATE}={','.join(map(str, rates))}", seeds=TWENTY), night=0.2)
    played = both.searched()
    for at, rate in enumerate(rates):
        of_both = {run for run in played if both.study.values(run.variant)[RATE] == rate}
        alone = MadeUp(night(f"{NODES}=1..60", f"{RATE}={rate}", seeds=TWENTY), night=0.2)
        alone._due = both._due
        assert {Run(2 * variant - 1 + at, seed) for variant, seed in alone.searched()} == of_both


def test_every_output_shows_what_was_not_played(night):
    made_up = MadeUp(night(f"{NODES}=1..40", SIZES, f"{SLOTS}=1..4", seeds=TWENTY[:5]), own=0.02)
    played = made_up.searched()
    summary = made_up.summary(played.values())
    left = [one.variant for one in summary.variants if not one.runs]
    cut = [one for one in summary.variants if one.runs and not one.is_whole]
    assert left
    assert cut
    assert not any(one.pareto for one in summary.variants if not one.is_whole)
    assert set(summary.all_recommended) <= {one.variant for one in summary.variants if one.is_whole}
    table = study_text(summary, (), console(to_stderr=False))
    assert table.count("not played") == len(left)
    assert f"The search has played {len(played)} of 2,400 runs." in table
    found = as_json(summary)["variants"]
    assert [one["variant"] for one in found if not one["runs"]] == left
    for one in found:
        if not one["runs"]:
            assert one["met"] == {"share": None, "low": None, "high": None, "expectations": []}
            assert one["costUsd"]["median"] is one["costUsd"]["p5"] is None
            assert one["values"] == made_up.study.values(one["variant"])
    rows = list(csv.DictReader(io.StringIO(csv_text(made_up.study, played.values()))))
    assert [int(row["variant"]) for row in rows if not row["seed"]] == left
    assert all(not row["costUsd"] and row[NODES] and row[SIZE] for row in rows if not row["seed"])
    assert sorted((int(row["variant"]), int(row["seed"])) for row in rows if row["seed"]) == sorted(played)
    pytest.importorskip("matplotlib")
    plot = drawn(summary, "svg").decode()
    assert f"{len(cut):,} played with fewer seeds, {len(left):,} not at all" in plot
