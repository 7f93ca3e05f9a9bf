"""A run as a whole: expectations on the way, and the trace that commands leave."""

from __future__ import annotations

from tests import builders as b


def test_a_moment_is_looked_at_although_the_entry_before_it_changes_nothing():
    # The last event is long past at the 19th minute; between them only the initial resize's timeout falls due.
    sim = b.simulation(
        b.a_job(tasks=0),
        timeline=[{"at": "PT20M", "resizePool": {"poolId": "p", "targetDedicatedNodes": 3}}],
        expect=[{"at": "PT19M", "poolId": "p", "nodes": {"total": 1}}],
    )
    b.run_to_end(sim)
    sim.finish()
    assert [outcome.met for outcome in sim.expectations] == [True]


def test_a_collection_that_is_refused_whole_leaves_no_trace_but_its_refusal():
    sim = b.simulation(b.a_job(tasks=1))
    assert b.refusal(sim, "addTasks", jobId="j", tasks=[b.a_task("t1")]) == "TaskExists"
    assert b.refusal(sim, "addTasks", jobId="j", tasks=[b.a_task("t1"), b.a_task("t2")]) == "TaskExists"
    commands = [(event["event"], event["command"]) for event in b.events(sim) if event["event"].startswith("Command")]
    assert commands[2:] == [
        ("CommandRefused", "addTasks"),
        ("CommandAccepted", "addTasks"),
        ("CommandRefused", "addTasks"),
    ]
