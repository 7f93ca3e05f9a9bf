"""A kept reader of the log agrees with a new one after any jumps and branches."""

from __future__ import annotations

import random
from array import array
from collections import Counter

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import RebootNode
from engine.views.log.reader import LogReader, about, kinds_of, of_kind, tally
from engine.views.resources.events import EventPage, is_failure


def wander(sim, number):
    """Jump, branch, run on and give commands, in an order that the number decides."""
    dice = random.Random(number)
    for _ in range(40):
        match dice.randrange(6):
            case 0 | 1 | 2:
                sim.seek(dice.randrange(sim.end_ms // 20))
            case 3:
                sim.branch()
            case 4 if not sim.is_past:
                sim.submit_all([RebootNode.from_wire({"poolId": sim.world.pools[0].id, "node": 0})])
            case _:
                sim.run_until(sim.now_ms + dice.randrange(60_000))
        yield


@pytest.mark.parametrize("number", range(4))
def test_what_was_kept_is_what_is_read_anew(number):
    sim = Simulation(load_scenario("preparation-fails-on-one-node"))
    readers = [LogReader(sim, about("row_b", 0)), LogReader(sim, of_kind(is_failure))]
    folded = []
    page = EventPage(sim)
    for _ in wander(sim, number):
        log = sim.log
        mine, failures = readers
        assert list(mine.entries()) == [at for at in range(len(log)) if log.row_b[at] == 0]
        bad = [at for at in range(len(log)) if is_failure(log.shapes[log.shape_of[at]])]
        assert list(failures.entries()) == list(page.failures()) == bad
        is_other, entries = mine.news()
        folded = [*(() if is_other else folded), *entries]
        assert folded == list(mine.entries())


@pytest.mark.parametrize("shapes", [3, 256, 257, 600])
def test_kinds_of_shapes_are_exact_however_many_shapes_there_are(shapes):
    draw = random.Random(shapes)
    kinds = [draw.randrange(5) for _ in range(shapes)]
    entries = array("H", (draw.randrange(shapes) for _ in range(2000)))
    assert list(kinds_of(kinds, entries)) == [kinds[shape] for shape in entries]


@pytest.mark.parametrize("kinds", [40, 256, 300])
def test_shapes_are_tallied_however_many_there_are(kinds):
    shapes = array("I", [number * number % kinds for number in range(500)])
    assert tally(shapes, kinds) == Counter(shapes)
    assert not tally(array("I"), kinds)
