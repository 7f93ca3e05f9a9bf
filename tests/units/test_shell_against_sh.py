"""The small shell against ``/bin/sh``: recorded outcomes of dash, the real dash, and scripts made by chance."""

from __future__ import annotations

import pytest

from tests.units.shell_machines import IS_DASH, real, recorded, simulated

OUTCOMES = recorded()


@pytest.mark.parametrize("script", OUTCOMES)
def test_task_22_a_script_does_what_dash_does(script):
    assert simulated(script) == OUTCOMES[script]


@pytest.mark.skipif(not IS_DASH, reason="/bin/sh is not dash")
@pytest.mark.parametrize("script", OUTCOMES)
def test_the_recorded_outcomes_are_those_of_dash(script):
    assert real(script) == OUTCOMES[script]
