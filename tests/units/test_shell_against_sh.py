"""The small shell against ``/bin/sh``: recorded outcomes of dash, the real dash, and scripts made by chance."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from engine.base.terms import OsFamily
from engine.shell.small_shell import facts_of
from tests.units.shell_machines import IS_DASH, real, recorded, simulated
from tests.units.shell_scripts import SCRIPTS

OUTCOMES = recorded()


@pytest.mark.parametrize("script", OUTCOMES)
def test_task_22_a_script_does_what_dash_does(script):
    assert simulated(script) == OUTCOMES[script]


@pytest.mark.skipif(not IS_DASH, reason="/bin/sh is not dash")
@pytest.mark.parametrize("script", OUTCOMES)
def test_the_recorded_outcomes_are_those_of_dash(script):
    assert real(script) == OUTCOMES[script]


@pytest.mark.skipif(not IS_DASH, reason="/bin/sh is not dash")
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # each example starts processes: shrinking would take minutes
    suppress_health_check=[HealthCheck.too_slow],
)
@given(script=SCRIPTS)
def test_a_script_made_by_chance_does_what_dash_does(script):
    assert simulated(script) == real(script)


@given(script=SCRIPTS)
def test_a_script_made_by_chance_is_readable(script):
    assert facts_of(f"/bin/sh -c {shlex.quote(script)}", OsFamily.LINUX).unreadable is None
