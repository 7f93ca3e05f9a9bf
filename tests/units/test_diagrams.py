"""engine/README.md shows lifecycles and reactions as they are, tui/README.md the symbols."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.base import lifecycles
from engine.world import World
from tests import diagrams


@pytest.mark.parametrize("name", diagrams.SECTIONS)
def test_a_page_is_current(name):
    page, section = diagrams.SECTIONS[name]
    _, shown, rest = diagrams.split(name)
    assert rest, f"{page} has lost its marks"
    assert shown == section(), "run `python -m tests.diagrams`"


def test_each_fact_is_emitted_by_a_rule():
    assert [name for name, modules in diagrams.emitters().items() if not modules] == []


def test_the_table_of_reactions_shows_the_facts_that_follow_from_a_fact():
    further = diagrams.further_facts()
    assert "InstanceInterrupted" in further["engine.rules.tasks.interruptions", "node_lost"]
    assert further["engine.rules.nodes", "vm_started"] == []


@pytest.mark.parametrize("name", ["spot-evictions", "drain-with-taskcompletion", "nodes-fail-and-recover"])
def test_no_handler_emits_a_fact_that_the_table_does_not_show(name, monkeypatch):
    further, running, seen = diagrams.further_facts(), [], set()
    emit = World.emit

    def checked(world, fact):
        if running:
            seen.add((running[-1], type(fact).__name__))
        emit(world, fact)

    def watched(handler):
        def run(world, fact):
            running.append((handler.__module__, handler.__name__))
            handler(world, fact)
            running.pop()

        return run

    monkeypatch.setattr(World, "emit", checked)
    simulation = Simulation(load_scenario(name))
    reactions = simulation.world.reactions
    simulation.world.reactions = {fact: tuple(map(watched, handlers)) for fact, handlers in reactions.items()}
    simulation.run_until(simulation.end_ms)
    assert seen
    assert [(handler, fact) for handler, fact in sorted(seen) if fact not in further[handler]] == []


def test_a_picture_has_an_arrow_for_each_move_with_its_rule():
    arrows = [line.strip() for line in diagrams.picture(lifecycles.TASK) if "-->" in line]
    assert len(arrows) == len(lifecycles.TASK)
    assert "[*] --> active: TASK-1" in arrows
    assert "preparing --> running: PREP-7" in arrows


def test_a_table_names_exceptions_where_most_states_are_meant():
    rows = diagrams.table(lifecycles.NODE)
    assert "| any | leavingpool | RSZ-7 |" in rows
    assert "| any, not leavingpool | preempted | SPOT-3 |" in rows
    assert "| deallocated | starting | NOP-8 |" in rows


def test_the_example_in_the_readme_runs(capsys):
    before, _, _ = diagrams.split("lifecycles")
    example = before.partition("```python\n")[2].partition("```")[0]
    exec(example)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith('{"seq":1,"t":0,')
    assert 0 < len(printed) < 200
