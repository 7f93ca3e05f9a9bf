"""The simulated Batch service: load a scenario, run it, look at it, go back.

The names here are the engine's face; everything else may change.
"""

from engine.base.errors import BatchError, BrokenInvariant, Problem, ScenarioError
from engine.run.simulation import Simulation
from engine.scenario.load import load as load_scenario
from engine.scenario.model import Scenario

__all__ = [
    "BatchError",
    "BrokenInvariant",
    "Problem",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "load_scenario",
]
