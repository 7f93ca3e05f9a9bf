"""Fixtures that evaluate formulas."""

from __future__ import annotations

import pytest

from engine.autoscale import parse
from tests.autoscale.situations import USUAL


@pytest.fixture
def evaluate():
    """Evaluate a formula on the usual inputs."""

    def run(formula):
        return parse(formula).evaluate(USUAL)

    return run


@pytest.fixture
def value(evaluate):
    """Return the text of an expression's value in the results."""

    def run(expression):
        results = evaluate(f"x = {expression}")
        assert results.error is None, results.error
        return results.text.split(";x=")[1]

    return run


@pytest.fixture
def fault(evaluate):
    """Return code, position and reason of a failed evaluation."""

    def run(formula):
        error = evaluate(formula).error
        assert error is not None, "it has not failed"
        return error.code, tuple(error.position), error.reason

    return run
