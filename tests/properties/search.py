"""The search for a case that breaks a promise, from a seed."""

from __future__ import annotations

from typing import NamedTuple
from unittest import mock

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider

from tests.properties.properties import Property
from tests.properties.runs import Case

# Hypothesis begins with the simplest case, so that the second one is the random case of the seed.
_ONE = settings(
    max_examples=2,
    phases=(Phase.generate, Phase.shrink),
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


class Broken(NamedTuple):
    """A shrunk case that breaks a promise, and the error."""

    case: Case
    error: Exception


def search(promise: Property, seed: int) -> Broken | None:
    """Return the shrunk form of the random case of ``seed`` if that breaks the promise; None if it keeps it.

    Hypothesis draws one number in twenty from the constants of all modules that are imported. Then a seed would draw
    another case when a module changes, so this is turned off. How is not public, so it is done in this one place.
    """
    failed: list[Case] = []

    @hypothesis.seed(seed)
    @_ONE
    @given(promise.cases)
    def run(case: Case) -> None:
        try:
            promise.check(case)
        except Exception:
            failed[:] = [case]
            raise

    try:
        with mock.patch.object(HypothesisProvider, "_maybe_draw_constant", return_value=None):
            run()
    except Exception as error:
        return Broken(failed[0], error)
    return None
