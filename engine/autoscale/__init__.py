"""The autoscale formula language of the service: parse a formula once, evaluate it on samples (AS-1 ff.).

Pure: a formula is a function of its inputs. It knows no pool, no calendar and no file. Rule ids AS-n are those of
the autoscale chapter of the specification.
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
