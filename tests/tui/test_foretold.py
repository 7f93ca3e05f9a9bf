"""Needs attention: what is being retried, what was stopped with its job, and what lies ahead."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.run.agenda import PlannedInput, basis_words
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, Role, plain
from tui.viewmodels.watch.attention import AttentionModel
from tui.viewmodels.watch.job_strip import JobStripModel


def seen_in(session, cells=100):
    """Update the model of the pane, and return it with its lines."""
    session.update()
    model = AttentionModel(session)
    model.update()
    return model, [plain(text) for _, text in model.lines(cells)]


def played_ahead(sim):
    """Return a session that knows the end of the run."""
    session = Session(sim)
    while session.ahead.advance(10_000):
        pass
    return session


# -- retries ---------------------------------------------------------------------------------------------------------


def flaky(**more):
    """Make a job whose preparation fails once on the first node."""
    first = {0: {"attempts": [{"duration": 20, "exitCode": 1}, {"duration": 20}]}}
    prep = a_line(20, simulate={"duration": 20, "onNode": first}, constraints={"maxTaskRetryCount": 2})
    return a_job(tasks=4, prep=prep, **more)


def test_a_preparation_that_is_retried_is_listed_until_an_attempt_succeeds():
    sim = simulation(flaky(), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    assert seen_in(Session(sim))[1] == ["✓ Nothing needs attention."]
    run_to(sim, seconds=READY_S + 30)
    model, lines = seen_in(Session(sim))
    assert lines[0].startswith("! preparation task failed on node n0 and is retried")
    assert lines[1] == "  attempt 2 of 3; tasks there wait for it (PREP-6)"
    assert model.lines(80)[0][1][0].role is Role.WARNING
    assert model.subjects(0) == [ItemRef("node", 0)]
    assert model.destination(0)[:2] == ("preparation", 0)
    run_to(sim, seconds=READY_S + 45)
    assert seen_in(Session(sim))[1] == ["✓ Nothing needs attention."]


def test_a_retry_is_no_red_problem_of_its_job():
    sim = simulation(flaky(), a_job("k", tasks=2), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    session.update()
    strip = JobStripModel(session)
    strip.update()
    spans = [span for line in strip.lines(120, 4, 0) for span in line if span.text.strip() in ("1 problem", "!1", "✗1")]
    assert [(span.text.strip(), span.role) for span in spans] == [("1 problem", Role.WARNING)]


# -- stopped ---------------------------------------------------------------------------------------------------------


def test_tasks_that_ended_with_their_job_are_named():
    sim = simulation(a_job(tasks=[a_task("one", 600), a_task("two", 600)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 60)
    do(sim, "terminateJob", jobId="j")
    run_to(sim, minutes=10)
    model, lines = seen_in(Session(sim))
    at = next(at for at, each in enumerate(lines) if each.startswith("! 2 tasks stopped: the job was ended  one, two"))
    assert model.lines(80)[at][1][0].role is Role.OFF


def test_a_task_that_a_user_terminated_is_named():
    sim = simulation(a_job(tasks=[a_task("one", 600), a_task("two", 600)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 60)
    do(sim, "terminateTask", jobId="j", taskId="two")
    assert seen_in(Session(sim))[1][0].startswith("! task two stopped: the task was terminated by the user")


def test_a_multi_instance_task_is_listed_with_the_cause_of_its_primary_task():
    sim = Simulation(load_scenario("mpi-in-trouble"))
    sim.run_until(sim.end_ms)
    lines = seen_in(Session(sim))[1]
    assert any(line.startswith("✗ task storm of coast failed: TaskEnded (maximum execution time") for line in lines)
    assert any(line.startswith("! task tide of coast stopped: ") for line in lines)


# -- ahead -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "before_s", "after_s", "says"),
    [
        (
            "nightly-schedule-overruns",
            24 * 3600,
            60 * 3600,
            "! job schedule nightly-risk will miss an occurrence: nightly-risk:job-2 will still be",
        ),
        (
            "one-pool-per-scheduled-job",
            60,
            9000,
            "! job hourly:job-3 will end: AutoPoolCreationFailedWithQuotaReached (simulated)",
        ),
        (
            "preparation-fails-on-one-node",
            60,
            240,
            "! preparation task of align will fail on n1: exit code 56 (simulated)",
        ),
        (
            "quota-keeps-the-pool-small",
            5,
            100,
            "! a resize of pool risk will fail: AccountCoreQuotaReached (simulated)",
        ),
        (
            "retries-and-exit-conditions",
            60,
            200,
            "! task corrupt of nightly will fail: exit code 139 (segmentation fault",
        ),
    ],
)
def test_trouble_is_foretold_until_it_has_happened(scenario, before_s, after_s, says):
    session = played_ahead(Simulation(load_scenario(scenario)))
    run_to(session.simulation, seconds=before_s)
    lines = seen_in(session)[1]
    assert any(line.startswith(says) for line in lines)
    run_to(session.simulation, seconds=after_s)
    assert not any(line.startswith(says) for line in seen_in(session)[1])
    session.simulation.seek(before_s * 1000)
    assert any(line.startswith(says) for line in seen_in(session)[1])


def test_what_is_avoided_is_no_longer_foretold():
    sim = simulation(a_job(tasks=[a_task("bad", 60, 1), a_task("good", 60)]), pool=a_pool(nodes=2))
    session = played_ahead(sim)
    run_to(sim, seconds=READY_S)
    assert seen_in(session)[1][0].startswith("! task bad will fail: exit code 1 (simulated)")
    do(sim, "deleteTask", jobId="j", taskId="bad")
    assert seen_in(session)[1] == ["✓ Nothing needs attention."]
    while session.ahead.advance(10_000):
        pass
    assert seen_in(session)[1] == ["✓ Nothing needs attention."]


def test_several_that_will_fail_are_counted_and_what_is_next_comes_first():
    tasks = [a_task("late", 300, 2), *(a_task(f"bad{number}", 60, 1) for number in range(3)), a_task("good")]
    session = played_ahead(simulation(a_job(tasks=tasks), pool=a_pool(nodes=5)))
    run_to(session.simulation, seconds=5)
    model, lines = seen_in(session)
    assert lines[0].startswith("! 3 tasks will fail: exit code 1 (simulated)")
    assert lines[1].startswith("! task late will fail: exit code 2 (simulated)")
    assert model.worst is None
    assert model.subject(0) == ItemRef("job", "j")


def test_enter_goes_to_the_moment_at_which_it_happens():
    app = Dashboard(Simulation(load_scenario("preparation-fails-on-one-node")), plays=False, at_ms=60_000)
    seen = []

    def play_ahead(app):
        while app.session.ahead.advance(10_000):
            pass
        app.screen.update()
        seen.extend(text_of(app))
        app.screen.query_one("#attention").focus()

    drive(app, play_ahead, "enter", size=(160, 50))
    assert contains(seen, "preparation task of align will fail on n1")
    assert app.session.now_ms == 152_000 + app.session.now_ms % 1000
    assert app.session.attention.concerns()[0].text == "preparation task failed on n1: exit code 56"


# -- expectations ----------------------------------------------------------------------------------------------------


def test_an_expectation_that_only_the_end_decides_is_broken_at_the_end():
    sim = simulation(a_job(tasks=1), expect=[{"jobId": "j", "state": "completed"}])
    session = played_ahead(sim)
    run_to(sim, seconds=READY_S)
    foreseen = seen_in(session)[0].concerns[0]
    assert foreseen.text == "expectation 1 will be broken: job j"
    assert (foreseen.since_ms, foreseen.is_coming) == (session.ahead.end_ms, True)
    sim.run_until(session.ahead.end_ms)
    model, _ = seen_in(session)
    assert model.concerns[0].text == "expectation 1 is broken: job j"
    assert not any("will be broken" in concern.text for concern in model.concerns)
    assert model.lines(80)[0][1][0].role is Role.FAILED


def test_of_many_causes_the_next_are_told_and_the_others_counted():
    tasks = [a_task(f"t{code}", 60 * code, code) for code in range(1, 6)]
    session = played_ahead(simulation(a_job(tasks=tasks), pool=a_pool(nodes=5)))
    run_to(session.simulation, seconds=5)
    lines = seen_in(session)[1]
    assert [line[:14] for line in lines[:3]] == [f"! task t{code} will" for code in (1, 2, 3)]
    assert lines[3:] == ["  and 2 other causes after it"]


def test_a_job_that_nothing_will_end_is_told_as_soon_as_its_tasks_have_ended():
    ended_later = {"at": READY_S + 300, "terminateJob": {"jobId": "later"}}
    sim = simulation(a_job("open"), a_job("later"), pool=a_pool(nodes=2), timeline=[ended_later])
    session = played_ahead(sim)
    run_to(sim, seconds=READY_S + 30)
    assert seen_in(session)[1] == ["✓ Nothing needs attention."]
    run_to(sim, seconds=READY_S + 90)
    model, lines = seen_in(session)
    assert lines[0].startswith("! job open stays active: its tasks have ended, nothing in this run ends it")
    assert model.destination(0) == ("jobs", "open", ItemRef("job", "open"))
    do(sim, "terminateJob", jobId="open")
    while session.ahead.advance(10_000):
        pass
    assert seen_in(session)[1] == ["✓ Nothing needs attention."]


def test_a_job_that_is_terminating_is_not_said_to_end_once_more():
    sim = Simulation(load_scenario("every-way-to-end-a-job"))
    session = played_ahead(sim)
    run_to(sim, minutes=4)
    assert "job too-long will end: MaxWallClockTimeExpiry (simulated)" in [one.text for one in session.concerns()]
    run_to(sim, minutes=5)
    assert [one.text for one in session.concerns() if one.about == "job" and "too-long" in one.text] == [
        "job too-long ended: MaxWallClockTimeExpiry"
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, ""),
        (1, "after resizePool at 60"),
        (3, "after 3 more commands, of which the last is resizePool at 60"),
    ],
)
def test_the_commands_that_an_end_comes_after_are_a_part_of_a_sentence(count, words):
    found = [PlannedInput(60, "resizePool")] * count
    assert basis_words(found, str) == words
