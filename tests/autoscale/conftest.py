"""What the tests of the formula language ask of a formula."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.autoscale import Dialect, parse
from tests.autoscale.situations import USUAL


@pytest.fixture
def evaluate():
    """Evaluates a formula on the usual inputs, in a dialect that differs as said."""

    def run(formula, **differences):
        return parse(formula).evaluate(replace(USUAL, dialect=Dialect(**differences)))

    return run


@pytest.fixture
def value(evaluate):
    """The text that the results show for the value of an expression."""

    def run(expression, **differences):
        results = evaluate(f"x = {expression}", **differences)
        assert results.error is None, results.error
        return results.text.split(";x=")[1]

    return run


@pytest.fixture
def fault(evaluate):
    """The code, the place and the reason with which the evaluation of a formula fails."""

    def run(formula, **differences):
        error = evaluate(formula, **differences).error
        assert error is not None, "it has not failed"
        return error.code, tuple(error.position), error.reason

    return run
