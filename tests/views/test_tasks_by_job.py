"""Entries about tasks, counted by job in bulk and one by one."""

from __future__ import annotations

from collections import Counter

import pytest

from engine import Simulation, load_scenario
from engine.views.log import reader
from engine.views.log.reader import block_of_all, count_by_job


@pytest.mark.parametrize("page_bytes", [0, 1, 2])
@pytest.mark.parametrize("name", ["priorities-and-fairness", "job-manager-adds-tasks", "retries-and-exit-conditions"])
def test_entries_are_counted_by_the_jobs_of_their_tasks(name, page_bytes, monkeypatch):
    monkeypatch.setattr(reader, "PAGE_BYTES", page_bytes)
    monkeypatch.setattr(reader, "PAGE", 256**page_bytes)
    simulation = Simulation(load_scenario(name))
    simulation.run_until(simulation.end_ms)
    log, tasks = simulation.log, simulation.world.tasks
    for start, stop in ((0, None), (len(log) // 3, len(log) // 2), (5, 5)):
        wanted = (
            tasks.block_of(log.row_a[at]).job
            for at in range(start, len(log) if stop is None else stop)
            if _changes_a_task(log.shapes[log.shape_of[at]])
        )
        assert count_by_job(simulation, _changes_a_task, start, stop) == Counter(wanted)


def _changes_a_task(shape):
    return shape.event == "TaskStateChanged" and ("from", None) not in shape.fields


@pytest.mark.parametrize("page_bytes", [0, 1, 2])
@pytest.mark.parametrize("name", ["priorities-and-fairness", "job-manager-adds-tasks", "job-prep-release-sample"])
def test_tasks_are_said_to_be_of_one_block_only_if_they_are(name, page_bytes, monkeypatch):
    monkeypatch.setattr(reader, "PAGE_BYTES", page_bytes)
    monkeypatch.setattr(reader, "PAGE", 256**page_bytes)
    simulation = Simulation(load_scenario(name))
    simulation.run_until(simulation.end_ms)
    log, tasks = simulation.log, simulation.world.tasks
    flags = bytes(_changes_a_task(log.shapes[shape]) for shape in log.shape_of)
    found = []
    for start in range(0, len(log), 3):
        for stop in range(start, min(len(log), start + 40)):
            found.append(block_of_all(tasks, log.row_a[start:stop], flags[start:stop]))
            blocks = {id(tasks.block_of(log.row_a[at])) for at in range(start, stop) if flags[at]}
            assert found[-1] is None or blocks == {id(found[-1])}
            assert found[-1] is not None or page_bytes or len(blocks) != 1
    assert any(found) or page_bytes
