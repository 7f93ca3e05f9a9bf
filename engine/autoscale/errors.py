"""What can be wrong with a formula: its text when it arrives, or its evaluation when it runs (AS-72 to AS-75)."""

from __future__ import annotations

from typing import NamedTuple

from engine.base.errors import Position

SYNTAX = "AutoScalingFormulaSyntaxError"
TOO_LONG = "AutoScalingFormulaTooLong"
EVALUATION = "AutoScalingFormulaEvaluationError"
NO_SAMPLES = "InsufficientSampleData"

_MESSAGES = {
    EVALUATION: "Autoscale evaluation failed due to formula evaluation error",
    NO_SAMPLES: "Autoscale evaluation failed due to insufficient sample data",
}


class FormulaError(ValueError):
    """A formula that is refused on arrival (AS-2, AS-5, AS-72): the service's code, the place and the reason."""

    def __init__(self, code: str, position: Position, reason: str) -> None:
        """Refuse a formula with this code."""
        super().__init__(f"{position}: {reason}")
        self.code = code
        self.position = position
        self.reason = reason


class RunError(NamedTuple):
    """Why an evaluation failed, as ``autoScaleRun.error`` tells it (AS-67, AS-73, AS-74)."""

    code: str
    position: Position
    reason: str

    @property
    def message(self) -> str:
        """The service's sentence."""
        return _MESSAGES[self.code]

    def wire(self) -> dict[str, object]:
        """As the service writes it."""
        values = [{"name": "Message", "value": f"{self.position}: {self.reason}"}]
        return {"code": self.code, "message": self.message, "values": values}


class EvaluationError(Exception):
    """An evaluation cannot go on. Raised where the place is not known; the evaluation adds it (AS-65, AS-74)."""

    code = EVALUATION


class TooFewSamples(EvaluationError):
    """AS-50. Unlike the others it points at the parenthesis of the call (AS-75)."""

    code = NO_SAMPLES
