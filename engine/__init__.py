"""The simulated Batch service: load a scenario, run it, look at it, go back.

The names here are the engine's face; everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.base.errors import BatchError, Problem, ScenarioError
    from engine.run.journal import Input
    from engine.run.simulation import Simulation
    from engine.scenario.load import load as load_scenario
    from engine.scenario.model import Scenario
    from engine.state.tables import BrokenInvariant

__all__ = [
    "BatchError",
    "BrokenInvariant",
    "Input",
    "Problem",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "load_scenario",
]

_HOMES = {
    "BatchError": (".base.errors", "BatchError"),
    "BrokenInvariant": (".state.tables", "BrokenInvariant"),
    "Input": (".run.journal", "Input"),
    "Problem": (".base.errors", "Problem"),
    "Scenario": (".scenario.model", "Scenario"),
    "ScenarioError": (".base.errors", "ScenarioError"),
    "Simulation": (".run.simulation", "Simulation"),
    "load_scenario": (".scenario.load", "load"),
}

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> object:
        """Import a name when it is first used: reading the rulebook needs no simulation."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _HOMES[name]
        found = globals()[name] = getattr(import_module(module, __name__), attribute)
        return found
