"""Cases of random runs, how they are played, and how they are written down."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st

from engine import BatchError, Simulation, load_scenario
from tests.invariants import check
from tests.properties.commands import Given, Trial, given_commands, trials
from tests.properties.needs import Body
from tests.properties.scenarios import UNTIL_MS, scenarios


class Case(NamedTuple):
    """Everything that a run of a property depends on."""

    scenario: Body
    commands: tuple[Given, ...]
    moments: tuple[int, ...] = ()  # in ms, to go to when the run is over
    trials: tuple[Trial, ...] = ()  # before each of the first commands

    def simulation(self) -> Simulation:
        """Return a simulation of the scenario, at its start."""
        return Simulation(load_scenario("random.yaml", text=json.dumps(self.scenario)))

    def part(self, commands: int, moments: int, trials: int) -> Case:
        """Return the case with its first commands, moments and trials only."""
        return Case(self.scenario, self.commands[:commands], self.moments[:moments], self.trials[:trials])


def cases(commands: int, moments: int = 0, tried: int = 0) -> st.SearchStrategy[Case]:
    """Draw cases with nearly so many commands, and exactly so many moments and trials."""
    return st.builds(
        Case,
        scenarios(),
        given_commands(commands),
        st.tuples(*[st.integers(0, UNTIL_MS - 1)] * moments),
        st.tuples(*[trials] * tried) if tried else st.just(()),
    )


def as_yaml(name: str, case: Case) -> str:
    """Return the case of the property ``name`` as a document that ``from_document`` reads."""
    document: dict[str, Any] = {
        "property": name,
        "scenario": case.scenario,
        "commands": [_written(given) for given in case.commands],
        "moments": list(case.moments),
        "trials": [trial._asdict() | {"commands": [_written(one) for one in trial.commands]} for trial in case.trials],
    }
    # Through JSON, so that nothing is written as an alias of something equal.
    plain = json.loads(json.dumps({key: value for key, value in document.items() if value}))
    return yaml.safe_dump(plain, sort_keys=False, width=120)


def from_document(document: Body) -> tuple[str, Case]:
    """Return the name of the property and the case that ``as_yaml`` has written."""
    tried = (
        Trial(tuple(map(_read, trial["commands"])), trial["ahead_ms"], trial["back_ms"])
        for trial in document.get("trials", ())
    )
    commands = tuple(map(_read, document.get("commands", ())))
    return document["property"], Case(document["scenario"], commands, tuple(document.get("moments", ())), tuple(tried))


def _written(given: Given) -> Body:
    return {"after_ms": given.after_ms, given.name: given.body}


def _read(written: Body) -> Given:
    (name,) = written.keys() - {"after_ms"}
    return Given(written["after_ms"], name, written[name])


def submit(simulation: Simulation, given: Given) -> None:
    """Give a command; a refusal is an answer like any other."""
    with suppress(BatchError):
        simulation.submit(given.command)


def play(simulation: Simulation, commands: tuple[Given, ...], *, checked: bool = False) -> None:
    """Play to the end with these commands on the way; ``checked`` checks the invariants after every instant."""
    go = _check_until if checked else Simulation.run_until
    for given in commands:
        until_ms = simulation.now_ms + given.after_ms
        if until_ms >= simulation.end_ms:
            break
        go(simulation, until_ms)
        submit(simulation, given)
        if checked:
            check(simulation.world)
    go(simulation, simulation.end_ms)


def _check_until(simulation: Simulation, until_ms: int) -> None:
    calendar = simulation.world.calendar
    while (when_ms := calendar.peek_ms()) is not None and when_ms <= until_ms:
        simulation.step()
        if calendar.instant_is_over():
            check(simulation.world)
    simulation.run_until(until_ms)
