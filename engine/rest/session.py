"""A session with clients: the scenario that it begins with, and the one that it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.base.units import DAY_MS, format_duration, format_utc
from engine.run.simulation import Simulation
from engine.scenario.files import read_source
from engine.scenario.load import load
from engine.scenario.record import keys_of, with_settings
from engine.views.results.document import recorded

if TYPE_CHECKING:
    from datetime import datetime

    from engine.base.terms import Plain
    from engine.scenario.model import Scenario

EMPTY = "scenario: session\n"
"""The scenario of an account in which there is nothing yet."""

LONGEST_MS = 3650 * DAY_MS
"""The simulated time after which every session ends."""


def scenario_to_serve(path_or_name: str | None, now: datetime | None) -> Scenario:
    """Return the scenario that clients find, or an empty account.

    Its calendar begins at ``now``, unless it says otherwise: clients compute times from their own clocks. Without
    ``now`` it begins where that of ``run`` does, so that two sessions can have the same log. It goes on after the end
    that a scenario may have, since clients may act at any moment.

    Raises:
        ScenarioError: The scenario has mistakes.
    """
    source = None if path_or_name is None else read_source(path_or_name)
    name, text = ("session", EMPTY) if source is None else (source.path, source.text)
    scenario = load(name, text=text)  # reports mistakes at their places in the file
    settings: dict[str, Plain] = {"until": format_duration(LONGEST_MS)}
    if now is not None and "startTime" not in keys_of(text):
        settings["startTime"] = format_utc(now.replace(microsecond=0), 0)
    return replace(load(name, text=with_settings(text, settings)), warnings=scenario.warnings)


def begin(
    path_or_name: str | None, now: datetime | None, seed: int | None = None, *, can_go_back: bool = False
) -> Simulation:
    """Begin a session on ``scenario_to_serve``. Raises ScenarioError."""
    simulation = Simulation(scenario_to_serve(path_or_name, now), seed=seed, can_go_back=can_go_back)
    simulation.awaits_commands = True
    simulation.run_until(0)  # clients find the pools and jobs of the scenario with their first request
    return simulation


def saved(simulation: Simulation) -> str:
    """Return what clients did as a scenario, which ends at the present moment and replays to the same log."""
    if not simulation.is_past:
        simulation.run_until(simulation.now_ms)  # what is due at this moment
    return session_text(simulation)


def session_text(simulation: Simulation) -> str:
    """Return what clients did as a scenario, without any effect on the run: also in the midst of an event."""
    end_ms = max(simulation.now_ms, simulation.present_ms)
    return with_settings(recorded(simulation), {"until": format_duration(end_ms)})
