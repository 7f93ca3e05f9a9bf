"""The jobs strip: a line for each job, the worst first, and a cursor that chooses the job in focus."""

from __future__ import annotations

import pytest

from engine.state.tasks import COMPLETED
from engine.views.hook_status import HookStatus
from engine.views.resources.jobs import JobsProgress
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    job_state,
    node_state,
    run,
    run_to,
    simulation,
    wait_for,
)
from tests.tui.conftest import simulation_at
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.app.dashboard import Dashboard
from tui.panes.watch_panes import JobStrip
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain, width
from tui.viewmodels.watch.job_strip import JobStripModel

ENDS = {"onAllTasksComplete": "terminatejob"}


def model_of(session):
    model = JobStripModel(session)
    model.update()
    return model


def texts(model, cells=116, lines=20):
    return [plain(each) for each in model.lines(cells, lines, 0)]


def names(model):
    return [each.split()[1] for each in texts(model, lines=len(model.job_ids))]


def many(count, seconds=READY_S + 100, nodes=4):
    """Jobs on one pool, with preparation and release, at a moment at which they run."""
    sim = simulation(
        *(a_job(f"job-{number}", tasks=30, prep=a_line(20), release=a_line(20), **ENDS) for number in range(count)),
        pool=a_pool(nodes=nodes),
    )
    run_to(sim, seconds=seconds)
    return sim


def test_jobs_with_problems_come_first_and_completed_ones_last():
    sim = simulation(
        a_job("good", tasks=9),
        a_job("over", tasks=[a_task(seconds=5)], priority=9, **ENDS),
        a_job("bad", tasks=[a_task("t1", 5, 1), *[a_task(f"t{at}") for at in range(2, 9)]]),
    )
    run_to(sim, minutes=4)
    assert names(model_of(Session(sim))) == ["bad", "good", "over"]


def test_a_job_alone_has_a_line_for_each_phase_and_for_its_ends():
    model = model_of(Session(many(1)))
    assert [each.split()[0] for each in texts(model)][:3] == ["Preparation", "Tasks", "Release"]
    assert model.lines_wanted() == 4
    assert model_of(Session(simulation(a_job(tasks=2)))).lines_wanted() == 2


def test_the_count_of_nodes_in_preparation_stands_whole_beside_large_numbers():
    sim = simulation(
        a_job("wide", tasks=6000, prep=a_line(30), **ENDS),
        pool=a_pool(nodes=10_000),
        account={"quotas": {"dedicatedCores": 10**5}},
    )
    run_to(sim, seconds=READY_S + 5)
    for cells in (76, 116):
        assert "  4,000 not prepared" in texts(model_of(Session(sim)), cells)[0]


def test_phases_promise_neither_a_preparation_that_no_task_needs_nor_a_release_on_each_node():
    hooks = {"prep": a_line(5), "release": a_line(5)}
    sim = simulation(a_job(tasks=[a_task(seconds=300)], **hooks), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 20)
    preparation, _, release, _ = texts(model_of(Session(sim)))
    assert preparation.rstrip().endswith("✓1  2 not prepared")
    assert release.rstrip().endswith("1 owed so far")
    do(sim, "removeNodes", poolId="p", nodeList=[2])
    run_to(sim, seconds=READY_S + 25)
    assert node_state(sim, 2) == "leavingpool"
    assert texts(model_of(Session(sim)))[0].rstrip().endswith("✓1  1 not prepared")


def test_each_line_has_the_phases_that_its_job_has():
    hooks = {"prep": a_line(5), "release": a_line(50)}
    sim = simulation(
        a_job("bare", tasks=9), a_job("whole", tasks=9, **hooks), a_job("ending", tasks=1, **hooks, **ENDS)
    )
    wait_for(sim, lambda: job_state(sim, "ending") == "terminating")
    session = Session(sim)
    bare, whole, ending = texts(model_of(session))[:3]
    assert ("prep " in bare, "release " in bare) == (False, False)
    assert ("prep " in whole, "release " in whole) == (True, False)
    assert ("prep " in ending, "release " in ending) == (True, True)
    assert bare.count("━") + bare.count("─") > whole.count("━") + whole.count("─")


def test_a_job_that_is_over_says_on_how_many_nodes_its_preparation_ran():
    prep = a_line(5, simulate={"onNode": {0: {"exitCode": 3}}}, constraints={"maxTaskRetryCount": 0})
    jobs = a_job("over", tasks=3, prep=prep, **ENDS), a_job("live", tasks=3, prep=a_line(5))
    sim = simulation(*jobs, pool=a_pool(nodes=2))
    wait_for(sim, lambda: job_state(sim, "over") == "completed")
    by_name = {each.split()[1]: each for each in texts(model_of(Session(sim)), 160)}
    assert " on 2 ✗1 " in by_name["over"]
    assert " 1 problem  ended " in by_name["over"]  # a problem, but no failed task
    assert model_of(Session(sim)).title(9, 100).startswith("Jobs: 1 live, 1 completed, 1 of them with problems")
    assert "live" in by_name


@pytest.mark.parametrize(
    ("name", "job_id", "nodes"),
    [
        ("spot-evictions", "shot-0300", 2),  # the third was preempted while it prepared
        ("nodes-for-a-deadline", "shot-0412", 9),
        ("wait-for-success-off", "shot-1130", 2),
    ],
)
def test_a_live_job_counts_nodes_as_it_does_once_it_is_over(name, job_id, nodes):
    sim = simulation_at(0, name)
    wait_for(sim, lambda: job_state(sim, job_id) == "terminating")
    progress = JobsProgress(sim)
    live = progress.of(job_id)
    wait_for(sim, lambda: job_state(sim, job_id) == "completed")
    over = progress.of(job_id)
    assert live.preparation == over.preparation
    jobs = JobsModel(Session(sim))
    jobs.update()
    failed = over.preparation.failed
    text = f"{nodes}/{nodes}" + (f" ✗{failed}" if failed else "")
    assert text in [span.text for span in jobs.cells(jobs.find(job_id))]
    assert over.preparation.total == nodes


@pytest.mark.parametrize("cells", [56, 76, 96, 116, 196])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_line_is_as_wide_as_the_strip(cells, ascii_only):
    model = model_of(Session(many(5), ascii_only=ascii_only))
    lines = model.lines(cells, 5, 0)
    assert {width(each) for each in lines} == {cells}
    assert not ascii_only or cells < 70 or all(plain(each).isascii() for each in lines)


def test_counts_on_a_line_are_those_of_the_job():
    session = Session(many(3))
    for job_id in model_of(session).job_ids:
        phases, progress = session.job(job_id).phases, session.progress(job_id)
        assert progress.tasks._replace(oldest_wait_ms=None) == phases.tasks._replace(oldest_wait_ms=None)
        assert progress.preparation.total == phases.preparation.total
        assert progress.preparation.done == sum(
            number for status, number in phases.preparation.by_status.items() if status.name == "SUCCEEDED"
        )


def test_a_completed_job_shows_how_many_nodes_had_prepared_and_released():
    sim = simulation(a_job(tasks=4, prep=a_line(5), release=a_line(5), **ENDS), pool=a_pool(nodes=3))
    run_to(sim, minutes=20)
    progress = Session(sim).progress("j")
    assert not progress.is_live
    assert progress.preparation[:3] == (3, 0, 0)
    assert progress.release[:2] == (3, 0)


def test_a_long_name_is_cut_in_its_middle():
    sim = simulation(
        a_job("nightly-valuation-of-the-european-book-1"), a_job("nightly-valuation-of-the-european-book-2")
    )
    run_to(sim, seconds=5)
    lines = texts(model_of(Session(sim)))
    assert [each.split()[1][-2:] for each in lines[:2]] == ["-1", "-2"]
    assert "…" in lines[0]


def test_more_jobs_than_lines_are_counted_in_the_title():
    model = model_of(Session(many(30)))
    assert model.title(7, 100) == "Jobs: 30 live · +23 more"
    assert model.title(30, 100) == "Jobs: 30 live"


@pytest.mark.parametrize(("size", "least"), [((80, 24), 7), ((120, 40), 9)])
def test_many_jobs_have_half_of_a_small_view_and_the_problems_half_of_its_width(size, least):
    panes = []
    look = lambda app: panes.extend([app.screen.query_one(JobStrip), app.screen.query_one("#attention")])  # noqa: E731
    drive(Dashboard(many(20), plays=False), look, size=size)
    assert panes[0].size.height >= least
    assert panes[1].outer_size.width >= size[0] // 2


@pytest.mark.parametrize("cells", [76, 116])
def test_tasks_stand_below_each_other_whether_or_not_a_preparation_has_failed(cells):
    sim = simulation(
        a_job("a", tasks=4, prep=a_line(5, 1)), a_job("b", tasks=40, prep=a_line(5)), pool=a_pool(nodes=12)
    )
    run_to(sim, minutes=4)
    found = texts(model_of(Session(sim)), cells)[:2]
    assert "✗" in "".join(found)
    assert len({each.index("tasks ") for each in found}) == 1


def test_a_completed_job_keeps_the_focus_and_on_opening_a_live_one_has_it():
    sim = simulation(a_job("brief", tasks=1, prep=a_line(5), **ENDS), a_job("long", tasks=40))
    run_to(sim, seconds=5)
    session = Session(sim)
    assert session.job_id == "brief"
    run_to(sim, minutes=5)
    session.update()
    assert session.job_id == "brief"
    session.choose_first_job()
    assert session.job_id == Session(sim).job_id == "long"
    session.focus_job("brief")
    session.choose_first_job()
    assert session.job_id == "brief"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_an_end_says_whether_it_is_ahead_or_past(dashboard_at, size):
    shown = after(dashboard_at(260, "preparation-fails-on-one-node"), size=size)
    assert contains(shown, "ends 08:08:10", "ended 08:04:04")


def test_a_failed_preparation_is_counted_in_a_narrow_strip(session_at):
    live = texts(model_of(session_at(260, "preparation-fails-on-one-node")), 76)[0]
    assert "on 2 ✗1" in live
    assert "tasks " in live


def test_a_narrow_strip_shows_release_in_place_of_preparation(session_at):
    model = model_of(session_at(300, "every-way-to-end-a-job"))
    assert "release " in texts(model, 76)[0]
    assert "prep " not in texts(model, 76)[0]
    assert "prep " in texts(model, 116)[0]


def test_a_long_name_of_a_pool_leaves_room_for_the_cost():
    pool = a_pool("valuation-of-the-european-book-on-spot-nodes", nodes=4)
    jobs = [a_job(name, tasks=3, poolInfo={"poolId": pool["id"]}) for name in ("one", "two")]
    sim = simulation(*jobs, pool=pool)
    run_to(sim, seconds=READY_S + 5)
    subtitle = model_of(Session(sim)).subtitle(50)
    assert len(subtitle) <= 50
    assert subtitle.startswith("pool va…nodes")
    assert "$" in subtitle


def test_a_job_that_was_chosen_stays_in_focus_when_it_completes():
    sim = simulation(a_job("brief", tasks=1, **ENDS), a_job("long", tasks=40))
    session = Session(sim)
    session.focus_job("brief")
    run_to(sim, minutes=5)
    session.update()
    assert session.job_id == "brief"


def test_the_cursor_chooses_the_job_in_focus_and_enter_opens_it():
    app = Dashboard(many(30), plays=False)
    seen = []

    def note(app):
        seen.append((app.session.job_id, app.screen.view.id))

    def focus(app):
        app.screen.query_one("#strip").focus()

    drive(app, focus, "down", "down", note, "end", note, "up", "enter", note)
    assert seen == [("job-2", "watch"), ("job-29", "watch"), ("job-28", "detail")]


def test_the_job_in_focus_is_visible_wherever_it_is_in_the_order():
    app = Dashboard(many(30), plays=False)
    seen = []

    def choose(app):
        app.session.focus_job("job-21")
        app.screen.update()

    drive(app, choose, lambda app: seen.extend(text_of(app)))
    assert contains(seen, "· ◉ job-21")


def test_until_a_job_is_chosen_the_first_line_is_in_focus():
    jobs = (a_job(f"job-{number}", tasks=30, priority=number, **ENDS) for number in range(30))
    app = Dashboard(simulation(*jobs, pool=a_pool(nodes=4)), plays=False)
    run_to(app.session.simulation, seconds=READY_S + 100)
    app.session.update()
    seen = []
    drive(app, lambda app: seen.extend(text_of(app)))
    assert app.session.job_id == "job-29"
    assert contains(seen, "· ◉ job-29")


def test_a_problem_counts_failed_tasks_and_nodes_that_could_not_prepare():
    sim = simulation(a_job("a", tasks=4, prep=a_line(5, 1)), a_job("b", tasks=[a_task("t1", 5, 1), a_task("t2", 5, 1)]))
    run_to(sim, minutes=4)
    session = Session(sim)
    assert session.attention.problems("b") == 2
    assert session.attention.problems("a") == 1
    do(sim, "terminateJob", jobId="b")
    run_to(sim, minutes=6)
    session.update()
    assert session.attention.problems("b") == 2


def test_the_strip_says_nothing_before_it_has_room(session_at):
    strip = JobStrip(session_at(100))
    strip.update()
    assert not strip.border_title
    assert not strip.border_subtitle


def test_the_title_says_how_many_completed_jobs_have_failures(session_at):
    model = model_of(session_at(5 * 3600, "one-pool-per-scheduled-job"))
    assert model.title(9, 100) == "Jobs: 8 completed, 1 of them with problems"


def test_of_a_job_that_stays_active_the_end_of_its_tasks_is_told():
    sim = simulation(a_job("stays", tasks=[a_task()]), a_job("ends", tasks=[a_task()], **ENDS))
    session = Session(sim)
    while session.ahead.advance(1000):
        pass
    run_to(sim, seconds=READY_S + 5)
    session.update()
    lines = {each.split()[1]: each for each in texts(model_of(session), lines=2)}
    assert "  tasks end 0" in lines["stays"]
    assert "  ends 0" in lines["ends"]


def test_the_footer_names_the_key_that_shows_all_jobs():
    seen = []
    focus = lambda app: app.screen.query_one("#strip").focus()  # noqa: E731
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    drive(Dashboard(many(30), plays=False), focus, "down", look, "z", look)
    assert contains(seen[0][-1:], "z all jobs")
    assert not contains(seen[0], "job-29 ")
    assert contains(seen[1], "job-29 ")


def test_completed_jobs_with_failures_stand_before_the_others(session_at):
    model = model_of(session_at(7 * 86_400, "one-pool-per-scheduled-job"))
    assert model.job_ids[:2] == ["hourly:job-3", "hourly:job-4"]


def test_the_bar_of_preparation_keeps_its_room_beside_large_counts_and_tasks_are_counted_whole():
    hooks = {"prep": a_line(30), "release": a_line(30)}
    sim = simulation(
        a_job("wide", tasks=[], taskFactory=sweep(60_000), **hooks, **ENDS),
        a_job("small", tasks=60, **hooks, **ENDS),
        pool=a_pool(nodes=10_000),
        account={"quotas": {"dedicatedCores": 10**5}},
    )
    run_to(sim, seconds=READY_S + 110)
    model = model_of(Session(sim))
    bars = [each.split("prep ")[1].split(" on ")[0] for each in texts(model, 116)[:2]]
    assert [len(each) >= 10 for each in bars] == [True, True]
    assert "/60,000 ◉9,940 " in texts(model, 116)[0]
    assert "/60,000 " in texts(model, 76)[0]
    assert "…" not in texts(model, 76)[0]


def sweep(count):
    """A factory of tasks of a minute."""
    return {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": count}],
        "repeatTask": a_line(60, command="price {0}"),
    }


def brief_and_long(brief, bad=0):
    """Jobs that are over, some of them with a failed task, and one that runs for long."""
    jobs = [a_job(f"brief-{at}", tasks=[a_task("t", 5, int(at < bad))], **ENDS) for at in range(brief)]
    sim = simulation(a_job("long", tasks=[a_task("t", 90_000)]), *jobs, pool=a_pool(nodes=4, taskSlotsPerNode=4))
    run_to(sim, minutes=30)
    return Session(sim)


@pytest.mark.parametrize("brief", [3, 30, 299])
def test_completed_jobs_are_one_line_of_counts_while_others_are_live(brief):
    session = brief_and_long(brief, bad=2)
    model = model_of(session)
    live, counts, *_ = texts(model, lines=3)
    assert "long" in live
    assert counts.startswith(f"✓ {brief} completed  2 with problems: brief-")
    assert model.lines_wanted() == 3
    session.focus_job("brief-2")
    assert ["long", "brief-2", str(brief - 1)] == [each.split()[1] for each in texts(model, lines=3)]
    assert len(texts(model, lines=brief + 1)) == brief + 1  # the whole pane shows them all


def test_two_jobs_one_of_them_completed_have_a_line_each():
    model = model_of(brief_and_long(1))
    assert [each.split()[1] for each in texts(model, lines=2)] == ["long", "brief-0"]


def test_a_release_that_fails_is_a_problem_as_a_preparation_that_fails_is():
    jobs = [a_job(name, tasks=2, prep=a_line(5), release=a_line(5, 1), **ENDS) for name in ("a", "b")]
    sim = simulation(*jobs, a_job("c", tasks=2, **ENDS), pool=a_pool(nodes=2))
    run_to(sim, minutes=30)
    session = Session(sim)
    model = model_of(session)
    assert session.progress("a").release.failed == 2
    assert [session.attention.problems(job_id) for job_id in "abc"] == [2, 2, 0]
    assert model.title(9, 100) == "Jobs: 3 completed, 2 of them with problems"
    told = [contains([each], "release", "✗2", "2 problems") for each in texts(model, cells=130)[:3]]
    assert told == [True, True, False]


def test_the_line_of_counts_stands_below_the_jobs_in_however_few_lines_and_the_title_counts_the_others():
    session = brief_and_long(30, bad=2)
    session.focus_job("brief-5")
    model = model_of(session)
    assert model.lines_wanted() == 4
    for lines, shown, more in ((3, ["long", "brief-5", "29"], False), (2, ["long", "29"], True)):
        assert [each.split()[1] for each in texts(model, lines=lines)] == shown
        assert ("+1 more" in model.title(lines, 100)) is more


def test_the_list_beside_the_strip_has_the_nodes_on_which_the_release_is_still_to_come():
    sim = simulation(a_job(tasks=3, prep=a_line(5), release=a_line(30)), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S)
    wait_for(sim, lambda: sim.world.jobs.find("j").counts[COMPLETED] == 3)
    do(sim, "rebootNode", poolId="p", node=1)
    run(sim, seconds=2)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=5)
    totals, statuses = set(), []
    while job_state(sim) == "terminating":
        session = Session(sim)
        release = session.pages("j")[1]
        totals |= {session.progress("j").release.total, release.count(), len(release.order())}
        statuses.append(release.statuses_of(release.order()))
        assert sim.step()
    assert totals == {3}
    assert statuses[0][-1] is HookStatus.WILL_RUN  # those that run come first
    assert statuses[-1].count(HookStatus.SUCCEEDED) == 2
