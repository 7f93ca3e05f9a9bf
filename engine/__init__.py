"""The simulated Batch service: load a scenario, run it, look at it, go back.

The names here are the engine's face; everything else may change.
"""

from engine.errors import BatchError, BrokenInvariant, Problem, ScenarioError
from engine.scenario.load import load as load_scenario
from engine.scenario.model import Scenario
from engine.simulation import Simulation

__all__ = [
    "BatchError",
    "BrokenInvariant",
    "Problem",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "load_scenario",
]
