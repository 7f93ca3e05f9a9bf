"""Errors of formulas: in the text when it arrives, or in an evaluation (AS-72 to AS-75)."""

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
    """A formula that is refused on arrival: the service's code, position and reason (AS-2, AS-5, AS-72)."""

    def __init__(self, code: str, position: Position, reason: str) -> None:
        """Create the refusal of a formula."""
        super().__init__(f"{position}: {reason}")
        self.code = code
        self.position = position
        self.reason = reason


class RunError(NamedTuple):
    """The reason why an evaluation failed, as in ``autoScaleRun.error`` (AS-67, AS-73, AS-74)."""

    code: str
    position: Position
    reason: str

    @property
    def message(self) -> str:
        """The service's message."""
        return _MESSAGES[self.code]

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        values = [{"name": "Message", "value": f"{self.position}: {self.reason}"}]
        return {"code": self.code, "message": self.message, "values": values}


class EvaluationError(Exception):
    """A failure of an evaluation, which adds the position (AS-65, AS-74)."""

    code = EVALUATION


class TooFewSamples(EvaluationError):
    """Too few samples (AS-50). The position is the parenthesis of the call (AS-75)."""

    code = NO_SAMPLES
