"""The service's autoscale formula language: a formula is parsed once and evaluated on samples (AS-1).

A formula is a pure function of its inputs. Nothing here depends on pools, the calendar or files.
"""

from engine.autoscale.errors import NO_SAMPLES, FormulaError, RunError
from engine.autoscale.formula import Formula, Results, joined, parse
from engine.autoscale.inputs import Dialect, Inputs, SampleSeries
from engine.autoscale.names import LIVE, METRICS, OPTION, TARGETS

__all__ = [
    "LIVE",
    "METRICS",
    "NO_SAMPLES",
    "OPTION",
    "TARGETS",
    "Dialect",
    "Formula",
    "FormulaError",
    "Inputs",
    "Results",
    "RunError",
    "SampleSeries",
    "joined",
    "parse",
]
