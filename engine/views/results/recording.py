"""A run as a scenario file: the one that was read, with the commands that were given by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.scenario.record import Given, dump, timeline_line

if TYPE_CHECKING:
    from engine import Simulation
    from engine.specs.commands import Command


def script_line(at_ms: int, command: Command) -> str:
    """Return the line of a scenario's timeline that gives a command at a moment, in ms since the start."""
    return timeline_line(at_ms, command.NAME, command.wire())


def given_by_hand(simulation: Simulation) -> list[tuple[int, Command]]:
    """List the commands given by hand, each with the moment at which it takes effect, in ms since the start."""
    return [(one.when_ms, one.command) for one in simulation.journal.by_hand()]


def recorded(simulation: Simulation) -> str:
    """Return the YAML of the scenario with every command given by hand in its timeline. It replays to the same log."""
    codes = {id(refusal.command): refusal.error.code for refusal in simulation.refusals}
    given = [Given(one.when_ms, one.command, codes.get(id(one.command))) for one in simulation.journal.by_hand()]
    return dump(replace(simulation.scenario, seed=simulation.seed), given)
