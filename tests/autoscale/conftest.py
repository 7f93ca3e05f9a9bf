"""Fixtures that evaluate formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.autoscale import parse
from engine.autoscale.values import Dialect
from tests.autoscale.situations import USUAL


@pytest.fixture
def evaluate():
    """Evaluate a formula on the usual inputs, in a dialect with these differences."""

    def run(formula, **differences):
        return parse(formula).evaluate(replace(USUAL, dialect=Dialect(**differences)))

    return run


@pytest.fixture
def value(evaluate):
    """Return the text of an expression's value in the results."""

    def run(expression, **differences):
        results = evaluate(f"x = {expression}", **differences)
        assert results.error is None, results.error
        return results.text.split(";x=")[1]

    return run


@pytest.fixture
def fault(evaluate):
    """Return code, position and reason of a failed evaluation."""

    def run(formula, **differences):
        error = evaluate(formula, **differences).error
        assert error is not None, "it has not failed"
        return error.code, tuple(error.position), error.reason

    return run
