"""Tests of saving: commands given by hand become a scenario that repeats them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scenario.load import load
from engine.scenario.record import GivenCommand, dump
from engine.specs.bodies import TaskSpec
from engine.specs.commands import AddTasks, CreateJob, FailNode, RebootNode, ResizePool, StorageOutage

GIVEN = [
    GivenCommand(1_500, RebootNode(pool_id="p", node=1)),
    GivenCommand(61_001, ResizePool(pool_id="p", target_dedicated_nodes=3), "PoolBeingResized"),
    GivenCommand(
        61_001, AddTasks(job_id="j", tasks=(TaskSpec(id="t", command_line="a: 'b' \"c\" {0} # é\n\t\u2028"),))
    ),
    GivenCommand(90_000_000, FailNode(pool_id="p", node_id="tvm-1", for_ms=5_000)),
    GivenCommand(90_000_000, StorageOutage()),
    GivenCommand(
        90_000_000,
        CreateJob.from_wire(
            {
                "id": "k",
                "poolInfo": {"poolId": "p"},
                "taskFactory": {
                    "type": "parametricSweep",
                    "parameterSets": [{"start": 1, "end": 3}],
                    "repeatTask": {"id": "t{0}", "commandLine": "1e5"},
                },
            }
        ),
    ),
]

WITHOUT = "scenario: s  # the name\nseed: 3\n"
BLOCK = """\
# what it is about
scenario: s
timeline:
  # first of all
  - {at: 5, storageOutage: {for: PT1M}}
  - at: 6
    deleteJob:
      jobId: j

# and what must hold
expect:
  - {makespan: {atMost: 5}}
"""
LAST = "timeline:\n- {at: 5, storageOutage: }\n- at: 7\n  deleteJob: {jobId: j}  # no line end"
FLOW = "{scenario: s, seed: 3, timeline: [{at: 5, storageOutage: }], pools: []}"
EMPTY = "scenario: s\ntimeline:\nseed: 3\n"
JSON = '{\n\t"scenario": "1e5", "description": "\\ud83d\\ude00 null", "until": 1.5\n}\n'
ANCHOR = "scenario: s\ntimeline: &t\n  - {at: 5, storageOutage: }\n"


@pytest.mark.parametrize(
    "text", [WITHOUT, BLOCK, "scenario: s\n" + LAST, FLOW, EMPTY, JSON, ANCHOR, BLOCK.replace("\n", "\r\n")]
)
@pytest.mark.parametrize("seed", [None, 99])
def test_it_loads_as_the_same_scenario_plus_the_commands(text, seed):
    scenario = load("s.yaml", text=text)
    if seed is not None:
        scenario = replace(scenario, seed=seed)
    again = load("again.yaml", text=dump(scenario, GIVEN))
    before = len(scenario.timeline)
    assert replace(again, timeline=again.timeline[:before]) == scenario
    added = again.timeline[before:]
    assert [GivenCommand(entry.at_ms, entry.command, entry.refused) for entry in added] == GIVEN
    assert [entry.index for entry in again.timeline] == list(range(before + len(GIVEN)))
    assert added[5].factory.count == 3


def test_without_commands_it_is_the_text_itself():
    assert dump(load("s.yaml", text=BLOCK)) == BLOCK


def test_comments_are_kept_where_entries_can_be_added():
    reboot = "{at: PT1.5S, rebootNode: {poolId: p, node: 1}}"
    assert dump(load("s", text=WITHOUT), GIVEN[:1]) == f"{WITHOUT}\ntimeline:\n  - {reboot}\n"
    assert dump(load("s", text=BLOCK), GIVEN[:1]) == BLOCK.replace("jobId: j\n", f"jobId: j\n  - {reboot}\n")
    text = "scenario: s\n" + LAST
    assert dump(load("s", text=text), GIVEN[:1]) == f"{text}\n- {reboot}\n"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text):
    task = TaskSpec(id="t", command_line=text)
    given_ = GivenCommand(0, AddTasks(job_id="j", tasks=(task,)))
    (entry,) = load("s", text=dump(load("s", text=FLOW.replace("{at: 5, storageOutage: }", "")), [given_])).timeline
    assert entry.tasks == (task,)
