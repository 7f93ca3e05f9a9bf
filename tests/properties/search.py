"""The search for a case that breaks a promise, from a seed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider

from tests.properties.properties import WHOLE, Property
from tests.properties.runs import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis import strategies as st

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

    The simplest case is put to the test first.
    """
    for case in map(promise.part_of, _whole_cases(seed)):
        try:
            promise.check(case)
        except Exception as error:
            return _shrunk(promise, seed) or Broken(case, error)
    return None


def random_cases(cases: st.SearchStrategy[Case], seed: int) -> list[Case]:
    """Return the simplest case, and the random case of the seed."""
    drawn: list[Case] = []
    _draw(cases, seed, drawn.append)
    return drawn


@lru_cache(maxsize=1_000)
def _whole_cases(seed: int) -> list[Case]:
    """Return the cases of which each promise takes a part; drawing them takes as long as to play a run."""
    return random_cases(WHOLE, seed)


def _shrunk(promise: Property, seed: int) -> Broken | None:
    failed: list[Case] = []

    def check(whole: Case) -> None:
        case = promise.part_of(whole)
        try:
            promise.check(case)
        except Exception:
            failed[:] = [case]
            raise

    try:
        _draw(WHOLE, seed, check)
    except Exception as error:
        return Broken(failed[0], error)
    return None


def _draw(cases: st.SearchStrategy[Case], seed: int, check: Callable[[Case], None]) -> None:
    """Call ``check`` with the cases of a seed; where it fails, with smaller ones.

    Hypothesis draws one number in twenty from the constants of all modules that are imported. Then a seed would draw
    another case when a module changes, so this is turned off. How is not public, so it is done in this one place.
    """

    @hypothesis.seed(seed)
    @_ONE
    @given(cases)
    def run(case: Case) -> None:
        check(case)

    with mock.patch.object(HypothesisProvider, "_maybe_draw_constant", return_value=None):
        run()
