"""A run as a scenario: what was read, and what has been done by hand since (contract, section 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.scenario.record import Given, dump, timeline_line

if TYPE_CHECKING:
    from engine import Simulation


def given_by_hand(simulation: Simulation) -> list[Given]:
    """Every command given by hand, in order; with the code of the refusal where it was refused so far."""
    codes = {id(refusal.command): refusal.error.code for refusal in simulation.refusals}
    return [Given(one.when_ms, one.command, codes.get(id(one.command))) for one in simulation.journal.by_hand()]


def script_line(given: Given) -> str:
    """The line of a scenario's timeline that gives a command again."""
    return f"- {timeline_line(given)}"


def recorded(simulation: Simulation) -> str:
    """The YAML of the scenario with every command given by hand in its timeline; it replays to the same log."""
    return dump(replace(simulation.scenario, seed=simulation.seed), given_by_hand(simulation))
