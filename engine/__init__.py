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
    "BatchError": ("engine.base.errors", "BatchError"),
    "BrokenInvariant": ("engine.state.tables", "BrokenInvariant"),
    "Input": ("engine.run.journal", "Input"),
    "Problem": ("engine.base.errors", "Problem"),
    "Scenario": ("engine.scenario.model", "Scenario"),
    "ScenarioError": ("engine.base.errors", "ScenarioError"),
    "Simulation": ("engine.run.simulation", "Simulation"),
    "load_scenario": ("engine.scenario.load", "load"),
}

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> object:
        """Import a name when it is first used: reading the rulebook needs no simulation."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _HOMES[name]
        found = globals()[name] = getattr(import_module(module), attribute)
        return found
