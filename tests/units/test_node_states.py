"""Every table about node states has a row for each of them."""

from __future__ import annotations

import pytest

from engine.base.lifecycles import NODE, NODE_STATES, Availability, Interruption
from engine.base.terms import NodeState
from engine.rules.node_operations import EFFECTS
from engine.state.nodes import Operation
from engine.views.log.histories import CAUSES
from engine.views.log.tally import MEASURES
from engine.views.resources.processes import OPERATIONS
from tui.viewmodels.glyphs import NODE as GLYPHS


@pytest.mark.parametrize("table", [NODE_STATES, GLYPHS], ids=["meaning", "glyphs"])
def test_a_table_has_a_row_for_each_node_state(table):
    assert [state for state in NodeState if state not in table] == []


@pytest.mark.parametrize("table", [CAUSES, MEASURES], ids=["causes", "measures"])
def test_a_table_has_a_row_for_each_interruption(table):
    assert [each for each in Interruption if each not in table] == []


@pytest.mark.parametrize("state", NodeState)
def test_a_node_enters_and_leaves_each_state(state):
    assert any(new is state for _, new in NODE)
    assert any(old is state for old, _ in NODE)


@pytest.mark.parametrize("state", NodeState)
def test_a_state_in_which_no_task_comes_has_a_reason(state):
    meaning = NODE_STATES[state]
    assert bool(meaning.text) is (meaning.availability is not Availability.READY)


def test_file_9_an_operation_that_wipes_the_disk_names_the_deletion():
    wiping = {name.value for name, effect in EFFECTS.items() if NODE_STATES[effect.state].wipes_disk}
    assert set(OPERATIONS) == wiping


def test_each_operation_has_an_effect():
    assert set(EFFECTS) == set(Operation)
