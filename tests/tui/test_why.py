"""w says why, where the cursor is."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from engine import Simulation, load_scenario
from engine.state.tables import BrokenInvariant
from engine.views.diagnosis.model import Next
from tests.builders import READY_S, a_job, a_line, a_pool, run_to, simulation, some_tasks
from tests.tui.driving import drive, look
from tests.tui.screen_text import after, contains, text_of
from tui.app.dashboard import Dashboard
from tui.dialogs.actions import Why
from tui.dialogs.files import Files
from tui.panes.watch import Attention
from tui.viewmodels.sentences import answers_to, expected_of, next_change, plain_text, why_lines
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain, width

LATER_S = 330


QUESTIONS = {
    "1": "Why is n0 of pool shared running?",
    "2": "Why does pool shared have the nodes that it has?",
    "3": "Why is n0 of pool shared running?",
    "4": "Why has job risk not ended?",
    "5": "Why did task deal-1 of job risk fail?",
    "6": "Why is n1 ineligible for job risk?",
    "9": "Why is task deal-32 of job risk running?",
}


def test_each_view_asks_its_question(dashboard_at):
    seen = []
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    drive(dashboard_at(LATER_S), *chain.from_iterable((key, "w", look, "escape") for key in QUESTIONS))
    shown = zip(QUESTIONS.items(), seen, strict=True)
    assert [view for (view, question), lines in shown if not contains(lines, question)] == []


def test_where_a_pool_has_no_nodes_it_says_why(dashboard_at):
    assert contains(after(dashboard_at(5), "3", "w"), "Why is pool shared resizing?", "requested, not allocated yet")


def test_on_watch_a_node_and_the_oldest_wait_are_explained_together(dashboard_at):
    app, seen = dashboard_at(360, "priorities-and-fairness"), []
    app.session.focus_job("overnight-a")
    drive(app, look(seen), "w", look(seen), size=(120, 50))
    before, shown = seen
    assert contains(before, "overnight-a", "w why", "oldest wait")
    assert contains(shown, "Why is n0 of pool shared running?", "Why is task book-3 of job overnight-a waiting?")
    assert contains(shown, "0 of this job; job urgent (500) went first")


def test_after_the_end_the_jobs_that_had_the_slots_are_named(dashboard_at):
    app, seen = dashboard_at(2_000, "priorities-and-fairness"), []
    app.session.focus_job("overnight-a")
    drive(app, "1", "w", look(seen), "escape", "4", "home", "w", look(seen), size=(120, 50))
    for view, shown in zip("14", seen, strict=True):
        assert contains(shown, "What did task book-5 of job overnight-a, the last one, wait for?"), view
        assert contains(shown, "tasks of job urgent (priority 500) took slots"), view


@pytest.mark.parametrize("pool", ["research-b", ""])
def test_with_nothing_or_a_deleted_node_under_the_cursor_the_worst_problem_is_explained(pool):
    app = Dashboard(Simulation(load_scenario("one-pool-per-scheduled-job")), plays=False)
    app.session.simulation.run_until(app.session.simulation.end_ms)
    if pool:
        app.session.focus_pool(pool)
    shown = []
    drive(app, "w", lambda app: shown.extend(text_of(app)))
    assert contains(shown, "Why has job hourly:job-3 ended?", "AutoPoolCreationFailedWithQuotaReached")


def test_the_cursor_of_the_jobs_list_chooses_the_job_of_the_breadcrumb_and_of_the_views(dashboard_at):
    app = dashboard_at(360, "priorities-and-fairness")
    seen = []

    def note(app):
        seen.append((app.session.job_id, text_of(app)[0].split(" › ")[2]))

    drive(app, "4", "home", note, "down", note, "w", "escape", "5", note, "4", "down", note)
    assert [job_id for job_id, _ in seen] == ["overnight-a", "overnight-b", "overnight-b", "urgent"]
    assert all(job_id == said for job_id, said in seen)


def test_enter_goes_to_the_next_event(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "4", "w", "enter")
    assert app.session.now_ms == 335_000 + app.session.now_ms % 1000
    assert not app.session.is_past


def test_y_copies_the_text_and_w_closes(dashboard_at):
    app = dashboard_at(LATER_S)
    depths = []

    def look(app):
        depths.append(len(app.screen_stack))

    drive(app, "6", "w", "y", look, "w", look)
    assert app.clipboard.startswith("Why is n1 ineligible for job risk?\n✗ preparation")
    assert depths == [2, 1]


@pytest.mark.parametrize("cells", [30, 60, 120])
def test_no_line_is_wider_than_the_sheet_and_every_word_is_there(session_at, cells):
    session = session_at(LATER_S)
    answers = answers_to(session, "job", "risk", "jobs") + answers_to(session, "node", 1, "preparation")
    lines = why_lines(session, answers, cells)
    assert max(map(width, lines)) <= cells
    if cells == 120:
        said = re.sub(r"\(in [0-9:]*\)|█| ", "", "".join(plain(each) for each in lines))
        assert said == "".join(plain_text(session, answers).split())


def test_the_first_of_all_next_events_counts(session_at):
    session = session_at(LATER_S)
    answers = answers_to(session, "job", "risk", "jobs") + answers_to(session, "node", 0, "nodes")
    following = next_change(answers)
    assert isinstance(following, Next)
    assert following.when_ms == min(answer.next_change.when_ms for answer in answers if answer.next_change)
    assert next_change([]) is None


def test_candidates_have_bars_where_there_is_room(session_at):
    session = session_at(52)
    answers = answers_to(session, "task", 39, "tasks")
    wide = [plain(each) for each in why_lines(session, answers, 80)]
    assert any(each.startswith("     6 ████████████ nodes preparing for this job; soonest n0") for each in wide)
    assert not any("█" in plain(each) for each in why_lines(session, answers, 50))


def test_what_is_to_come_is_said_with_how_long_it_takes(dashboard_at):
    app = dashboard_at(52)
    seen = []
    drive(app, "5", "end", "w", lambda app: seen.append(text_of(app)), "y")
    assert contains(seen[0], "Why is task deal-40 of job risk waiting?", "Expected: it starts on n", "(in 00:0")
    assert "Expected: it starts on n" in app.clipboard


def test_a_mistake_of_the_engine_on_the_way_is_told(session_at, monkeypatch):
    session = session_at(52)

    def breaks(*_, **__):
        raise BrokenInvariant("two and two are five")

    monkeypatch.setattr(session.simulation.world.calendar, "advance", breaks)
    coming = expected_of(session, "task", 39)
    assert coming.text == "internal error on the way: BrokenInvariant: two and two are five"
    assert session.now_ms == 52_000


def test_b_acts_and_branches_where_it_is_the_past(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        seen.append((app.session.is_past, text_of(app)))

    drive(app, "6", "w", "b", note, "escape", "t", *"300", "enter", "w", note, "b", note)
    assert contains(seen[0][1], "Act on this node", "Reimage n1")
    assert seen[1][0]
    assert contains(seen[1][1], "b branch here and act")
    assert not seen[2][0]
    assert contains(seen[2][1], "Act on this node")


def test_a_gap_of_the_timeline_is_explained_as_of_its_moment(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(app, "8", *["left"] * 4, "w", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Why, at 08:0", "b branch here and act")


def test_picture(snap_compare, dashboard_at):
    assert snap_compare(dashboard_at(LATER_S), press=["6", "w"], terminal_size=(120, 40))


def test_a_completed_task_says_what_it_waited_for(dashboard_at):
    app = dashboard_at(2_000, "priorities-and-fairness")
    app.session.focus_job("overnight-a")
    shown = after(app, "5", "end", "w", size=(120, 50))
    assert contains(shown, "What did task book-", " of job overnight-a wait for?")


def test_on_the_critical_path_and_among_slow_tasks_w_explains_the_one_at_the_cursor(dashboard_at):
    app, seen = dashboard_at(1203, "pipeline-with-dependencies"), []
    app.session.focus_job("study-17")
    to_slow_tasks = ("colon", *"statistics", "enter", "down", "down")  # past the cost of the job
    drive(
        app, "colon", *"critical", "enter", "w", look(seen), "escape", *to_slow_tasks, "w", look(seen), size=(120, 50)
    )
    for tab, shown in zip(("critical", "statistics"), seen, strict=True):
        assert contains(shown, "What did task ", " of job study-17 wait for?"), tab


def test_what_is_expected_from_the_timeline_is_not_beside_nothing_by_itself():
    entry = {"at": READY_S + 300, "enableJob": {"jobId": "j"}}
    sim = simulation(a_job(tasks=3), timeline=[{"at": 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}}, entry])
    run_to(sim, seconds=READY_S + 60)
    session = Session(sim)
    task = sim.world.tasks.find(sim.world.jobs.find("j").row, "t1")
    answers = answers_to(session, "task", task, "tasks")
    lines = [plain(each) for each in why_lines(session, answers, 100, expected_of(session, "task", task))]
    assert answers[0].nothing
    assert contains(lines, "Expected: it starts on n0", "after enableJob at 08:05:50")
    assert not contains(lines, "nothing by itself")
    by_hand = "nothing by itself, a user has to act; the timeline has enableJob at 08:05:50 [JOB-12]"
    assert contains(list(map(plain, why_lines(session, answers, 120))), by_hand)
    assert f"Next: {by_hand}" in answers[0].lines()
    assert "after enableJob at 08:05:50 [" in plain_text(session, answers, expected_of(session, "task", task))


def test_a_command_that_waits_for_a_condition_is_planned_too_but_no_refused_one_or_one_about_others():
    when = {"jobId": "j", "state": "completed"}
    entries = [
        {"when": when, "resizePool": {"poolId": "p", "targetDedicatedNodes": 0}},
        {"at": 400, "refused": "JobNotFound", "enableJob": {"jobId": "j"}},
        {"at": 500, "terminateJob": {"jobId": "k"}},
        {"at": 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}},
    ]
    sim = simulation(a_job(), a_job("k", tasks=0), timeline=entries)
    run_to(sim, seconds=READY_S + 60)
    answers = answers_to(Session(sim), "job", "j", "jobs")
    assert answers[0].lines()[-1].endswith("the timeline has resizePool when its condition holds [JOB-12]")


def test_a_moment_that_the_run_does_not_reach_is_said_to_lie_after_its_end():
    sim = Simulation(load_scenario("spot-evictions"))
    sim.run_until(sim.end_ms)
    session = Session(sim)
    session.update()
    lines = [plain(each) for each in why_lines(session, answers_to(session, "pool", "render", "pools"), 200)]
    assert "Next: Batch tries to allocate Spot nodes at 08:10:05, after the end of the run [SPOT-5]" in lines
    long = simulation(a_job(tasks=some_tasks(2, 600)), until="PT5M")
    run_to(long, seconds=READY_S)
    session = Session(long)
    lines = [plain(each) for each in why_lines(session, answers_to(session, "task", 1, "tasks"), 200)]
    assert any("soonest n0 at 08:10:51, after the end of the run [SCHED-10]" in each for each in lines)


@pytest.mark.parametrize("plays", [True, False])
@pytest.mark.parametrize("key", ["escape", "w"])
def test_time_that_goes_by_waits_while_an_answer_is_read_and_then_goes_on(dashboard_at, plays, key):
    playing = []

    def look(app):
        playing.append(app.main_screen.playback.pacer.playing)

    drive(dashboard_at(LATER_S), *(["space"] if plays else []), look, "w", look, key, look)
    assert playing == [plays, False, plays]


def _release_fails(seconds=600):
    app = Dashboard(Simulation(load_scenario("release-fails")), plays=False)
    run_to(app.session.simulation, seconds=seconds)
    return app


def test_a_release_that_failed_is_explained_first_where_it_is_asked_about():
    seen = []

    def point(app):
        app.main_screen.query_one(Attention).focus()

    drive(_release_fails(), "7", "w", look(seen), "escape", "1", point, "w", look(seen))
    for view, shown in zip("71", seen, strict=True):
        assert contains(shown, "Why did release fail on n", "✗ release", "exit code 110"), view


def test_a_node_on_which_release_failed_says_so_in_every_view():
    session = _release_fails().session
    session.update()
    asked = [[each.question for each in answers_to(session, "node", 1, view)] for view in ("nodes", "watch", "release")]
    assert [each.index("Why did release fail on n1, of job shot-0007?") for each in asked] == [2, 2, 0]


def test_on_a_shared_node_the_job_in_focus_comes_first_and_then_those_that_failed_there():
    jobs = [a_job(name, some_tasks(2, 900)) for name in ("one", "two", "mine")]
    jobs.insert(2, a_job("bad", prep=a_line(5, 1)))
    sim = simulation(pools=[a_pool(taskSlotsPerNode=4)], jobs=jobs)
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    session.focus_job("mine")
    node = next(node for node in session.nodes().nodes())
    told = "\n".join(answers_to(session, "node", node, "nodes")[0].lines())
    order = [told.index(f"job {name}") for name in ("mine", "bad", "one", "two")]
    assert order == sorted(order)


FAILED = [
    ("release-fails", 264, "7", "timed out"),
    ("preparation-fails-on-one-node", 200, "6", "curl: (56)"),
    ("retries-and-exit-conditions", 420, "5", None),
]


@pytest.mark.parametrize(("name", "seconds", "view", "stderr"), FAILED)
def test_of_a_failed_process_w_shows_the_last_errors_and_f_opens_files(dashboard_at, name, seconds, view, stderr):
    app, seen = dashboard_at(seconds, name), []
    drive(app, view, "w", look(seen), "f", look(seen), lambda app: seen.append(app.screen))
    assert contains(seen[0], "b act  f files")
    assert stderr is None or contains(seen[0], "stderr.txt", stderr)
    assert contains(seen[1], "stderr.txt")
    assert isinstance(seen[2], Files)


def test_of_what_has_not_failed_it_offers_no_files(dashboard_at):
    app, seen = dashboard_at(200, "plain-job"), []
    drive(app, "3", "w", look(seen), "f", lambda app: seen.append(app.screen))
    assert not contains(seen[0], "f files")
    assert isinstance(seen[1], Why)
