"""Blades of one thing: what their pages say, without Textual, and how they are walked through, with it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from engine.views.log.histories import NodeHistory
from engine.views.log.lanes import Lanes
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, run_to, simulation
from tests.tui.conftest import simulation_at
from tests.tui.detail_pages import JOB, NODE, POOL, SUBJECTS, TASK, page, the
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.saving.settings import Settings
from tui.viewmodels.detail_model import tab_bar
from tui.viewmodels.items import ViewHistory, VisitedView
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.properties import instance_runs
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, link_at, plain, width
from tui.viewmodels.timeline.kinds import JobRows

LATER_S = 330


def links(session, subject, tab, cells=118):
    thing = the(session, subject)
    return [span.leads_to for each in thing.lines(thing.tabs.index(tab), cells) for span in each if span.leads_to]


def head(session, subject, cells=118):
    return [" ".join(plain(each).split()) for each in the(session, subject).head(cells)]


@pytest.mark.parametrize("seconds", [0, 70, LATER_S, 100_000])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.kind)
def test_every_page_has_something_to_say_at_every_moment_and_width(session_at, subject, seconds):
    session = session_at(seconds)
    for cells in (40, 76, 118, 160):
        thing = the(session, subject)
        for tab in range(len(thing.tabs)):
            assert any(plain(each).strip() for each in thing.lines(tab, cells)), (cells, tab)
        assert bool(thing.head(cells)) is thing.exists
        assert all(width(each) <= cells for each in thing.head(cells)), cells


def test_what_is_not_there_yet_says_so(session_at):
    session = session_at(0)
    thing = the(session, ItemRef("node", 3))
    assert not thing.exists
    assert plain(thing.lines(0, 80)[0]) == "This node does not exist yet at 08:00:00."


def test_time_goes_back_and_the_page_with_it(session_at):
    session = session_at(LATER_S)
    thing = the(session, TASK)
    now = [plain(each) for each in thing.head(100)]
    session.simulation.seek(100_000)
    session.update()
    then = [plain(each) for each in thing.head(100)]
    session.simulation.seek(LATER_S * 1000)
    session.update()
    assert then != now
    assert [plain(each) for each in thing.head(100)] == now


# --- a node


def test_a_node_tells_how_each_job_stands_there(session_at):
    assert page(session_at(LATER_S), NODE, "Jobs on this node")[1] == "risk ✗ failed 0 . not needed until new disk"
    assert ItemRef("job", "risk") in links(session_at(LATER_S), NODE, "Jobs on this node")


def test_a_node_tells_its_start_task():
    start = a_line(20, exit_code=3, command="install", maxTaskRetryCount=1, waitForSuccess=True)
    sim = simulation(pool=a_pool(startTask=start))
    run_to(sim, minutes=5)
    told = page(Session(sim), ItemRef("node", 0), "Start task", 76)
    assert "Command line install" in told
    assert "Max task retry count 1" in told
    assert told[told.index("Execution information") + 1 :][:5] == [
        "State completed",
        "Start time 08:01:11",
        "End time 08:01:32",
        "Exit code 3",
        "Failure information",
    ]


def test_a_node_tells_its_last_tasks_newest_first():
    sim = simulation(a_job(tasks=[a_task("t1", 10), a_task("t2", 10, 4), a_task("t3", 60)]))
    run_to(sim, seconds=READY_S + 30)
    told = page(Session(sim), ItemRef("node", 0), "Recent tasks")
    assert [each.split()[1] for each in told[1:]] == ["t3", "t2", "t1"]
    assert told[2] == "✗ t2 j failed 08:01:01 08:01:12 4"


def test_the_history_of_a_node_has_a_bar_for_each_state_and_every_change(session_at):
    told = page(session_at(LATER_S, "nodes-fail-and-recover"), ItemRef("node", 0), "History")
    at = told.index("Changes, newest first")
    states = {each.split()[1] for each in told[1:at]}
    assert states == {each.split()[2] for each in told[at + 1 :]}
    assert told[at + 1].endswith("until now")


def test_a_node_that_has_left_says_what_is_kept_of_it(session_at):
    session = session_at(LATER_S)
    gone = next(node for node in range(9) if session.simulation.world.nodes.state_of(node) is None)
    assert head(session, ItemRef("node", gone)) == [
        "∅ left the pool at 08:03:20. Its record is kept, its files are deleted."
    ]


# --- a pool


def test_a_pool_tells_how_it_scales(session_at):
    pool = session_at(LATER_S).pool("shared")
    told = page(session_at(LATER_S), POOL, "Scale")
    assert f"Dedicated {pool.current_dedicated} of {pool.target_dedicated}" in told
    assert "Resize timeout 00:15:00" in told
    with_formula = page(session_at(30_000, "a-day-of-autoscaling"), ItemRef("pool", "elastic"), "Scale")
    assert contains(with_formula, "Evaluate formula", "Formula", "Last evaluation")


def test_the_curves_of_a_pool_end_with_what_is_now(session_at):
    told = page(session_at(LATER_S), POOL, "Curves")
    pool = session_at(LATER_S).pool("shared")
    running = next(number for state, number in pool.node_counts if state.wire == "running")
    (nodes,) = (each for each in told if each.startswith("Nodes "))
    assert f"{running} running" in nodes
    assert f"{pool.target_dedicated + pool.target_spot} target" in nodes


@pytest.mark.parametrize("subject", [POOL, JOB], ids=lambda subject: subject.kind)
def test_the_curves_of_a_page_fill_it(session_at, subject):
    thing = the(session_at(LATER_S), subject)
    thing.rows = 30
    assert len(thing.lines(0, 118)) == 30
    assert thing.tabs[0] == "Curves"


def test_the_properties_of_a_pool_are_those_of_the_service_in_words(session_at):
    told = page(session_at(LATER_S), POOL, "Properties", 76)
    assert "Node size standard_d2s_v3" in told
    assert told[told.index("Virtual machine configuration") + 1 :][:2] == ["Image reference", "Publisher Canonical"]


# --- a job


def test_approximate_and_exact_counts_differ_by_the_tasks_that_prepare(session_at):
    session = session_at(80)
    told = page(session, JOB, "Overview")
    tasks = session.job("risk").phases.tasks
    assert tasks.preparing
    at = next(number for number, each in enumerate(told) if each.startswith("running"))
    assert told[at] == (
        f"running {tasks.preparing + tasks.running} {tasks.running} +{tasks.preparing} "
        "preparing tasks count as running (PREP-21)"
    )


def test_the_lists_of_a_job_lead_to_the_views_and_to_each_row(session_at):
    found = links(session_at(LATER_S), JOB, "Tasks")
    assert found[0] == "show_view('tasks')"
    assert found[1].kind == "task"
    assert links(session_at(LATER_S), JOB, "Preparation tasks")[1] == ItemRef("node", 1)


def test_the_properties_of_a_job_have_their_parts():
    more = {
        "metadata": [{"name": "desk", "value": "rates"}],
        "commonEnvironmentSettings": [{"name": "A", "value": "1"}],
    }
    sim = simulation(a_job(prep=a_line(5), release=a_line(5), **more))
    run_to(sim, seconds=1)
    told = page(Session(sim), ItemRef("job", "j"), "Properties", 60)
    parts = [
        "General",
        "Constraints",
        "Job preparation task",
        "Job release task",
        "Common environment settings",
        "Execution information",
        "Metadata",
    ]
    assert list(dict.fromkeys(each for each in told if each in parts)) == parts
    assert told[told.index("Metadata") + 1] == "desk rates"
    assert "Max wall-clock time no limit" in told


def test_a_job_says_in_a_phrase_what_it_waits_for(session_at):
    assert head(session_at(LATER_S), JOB)[0].endswith("tasks to end")
    sim = simulation(a_job(), pool=a_pool(nodes=0))
    run_to(sim, minutes=1)
    assert head(Session(sim), ItemRef("job", "j"))[0].endswith("waits for nodes")


# --- a task


def test_the_strip_has_the_stages_with_times():
    sim = simulation(a_job(tasks=[a_task("t1", 20)], prep=a_line(9)))
    run_to(sim, seconds=READY_S + 60)
    stages, times = head(Session(sim), ItemRef("task", 0))
    assert stages == "◌ active → ▸ preparing → ◉ running → ✓ completed"
    assert times == "08:00:00 00:00:50 08:00:50 00:00:10 08:01:00 00:00:21 08:01:21"


def test_a_task_that_has_not_ended_has_no_sign_of_success():
    sim = simulation(a_job(tasks=[a_task("t1", 200)]))
    run_to(sim, seconds=READY_S + 60)
    assert head(Session(sim), ItemRef("task", 0))[0].endswith("◉ running → · completed")


def test_a_task_tells_each_attempt(session_at):
    told = page(session_at(200, "retries-and-exit-conditions"), ItemRef("task", 1), "Attempts")
    assert [each.split()[0] for each in told[1:]] == ["1", "2", "3"]
    assert told[1].endswith("08:01:30 08:01:51 139 retried 08:01:30 00:00:21 RETRY-5")
    assert told[3].endswith("139 FailureExitCode 08:02:12 00:00:21 RETRY-9")
    narrow = page(session_at(200, "retries-and-exit-conditions"), ItemRef("task", 1), "Attempts", 76)
    assert narrow[3].endswith("139 FailureExitCode")


def test_dependencies_in_both_directions(session_at):
    session = session_at(300, "pipeline-with-dependencies")
    world = session.simulation.world
    child = next(task for task in range(world.tasks.length) if world.tasks.spec(task).depends_on)
    told = page(session, ItemRef("task", child), "Dependencies")
    assert contains(told, "Depends on", "Dependents", "decides when it begins")
    assert contains(told, "1", "3", "4")
    assert contains(told, "Critical path")
    parent = next(each for each in links(session, ItemRef("task", child), "Dependencies") if each.kind == "task")
    assert ItemRef("task", child) in links(session, parent, "Dependencies")


@pytest.mark.parametrize("cells", [40, 76, 118])
def test_a_task_with_many_dependents_shows_some_and_counts_the_others(cells):
    tasks = [a_task("first"), *(a_task(f"t{number}", dependsOn={"taskIds": ["first"]}) for number in range(2000))]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=1)
    told = page(Session(sim), ItemRef("task", 0), "Dependencies", cells)
    assert contains(told[-1:], "and 1,800 more")
    assert contains(told, "no task", "t199")


def test_a_large_range_is_one_line():
    tasks = [*(a_task(str(number)) for number in range(1, 41))]
    tasks.append(a_task("end", dependsOn={"taskIdRanges": [{"start": 1, "end": 40}]}))
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=READY_S + 130)
    told = page(Session(sim), ItemRef("task", 40), "Dependencies")
    assert contains(told, "1 to 40, 38 to go")


def test_dependencies_are_listed_like_this():
    tasks = [a_task("1"), a_task("2"), a_task("both", dependsOn={"taskIds": ["1", "2"]})]
    tasks += [a_task(f"t{number}", dependsOn={"taskIds": ["both"]}) for number in range(3)]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True), pool=a_pool(taskSlotsPerNode=1))
    run_to(sim, seconds=READY_S + 150)
    thing = the(Session(sim), ItemRef("task", 2))
    told = [plain(each).rstrip() for each in thing.lines(thing.tabs.index("Dependencies"), 80)]
    assert told[:4] == [
        "Depends on                               Dependents",
        "✓ 2  decides when it begins              ⊡ t0",
        "✓ 1                                      ⊡ t1",
        "                                         ⊡ t2",
    ]


def test_the_critical_path_of_a_job_is_its_last_chain(session_at):
    session = session_at(3000, "pipeline-with-dependencies")
    told = page(session, ItemRef("job", session.job_id), "Critical path")
    assert [each.split()[1] for each in told[1:4]][-2:] == ["call", "report"]


def test_below_the_critical_path_stands_what_ended_the_job_after_it(session_at):
    thing = the(session_at(1_300, "pipeline-with-dependencies"), ItemRef("job", "study-17"))
    lines = [plain(each).strip() for each in thing.lines(thing.tabs.index("Critical path"), 118)]
    said = "The job ended at 08:20:02, 00:07:58 after it: AllTasksCompleted; publish was deleted at 08:20:00"
    assert said in lines


def test_without_dependencies_it_says_so(session_at):
    assert page(session_at(LATER_S), TASK, "Dependencies") == ["The job does not use task dependencies."]


# --- tabs, the trail


def test_a_click_on_a_tab_finds_it():
    tabs = ("Overview", "Files")
    bar = tab_bar(tabs, 0, 80)
    assert [link_at(bar, plain(bar).index(each)) for each in tabs] == ["0", "1"]
    assert link_at(bar, width(bar) + 1) is None


def test_tabs_that_have_no_room_are_left_out_whole():
    tabs = ("Curves", "Overview", "Preparation tasks", "Statistics", "Critical path", "Properties")
    for present, title in enumerate(tabs):
        for cells in (22, 40, 60):
            spans = tab_bar(tabs, present, cells)
            bar = plain(spans)
            assert len(bar) <= cells
            assert f"[{title}]" in bar
            shown = [each for each in tabs if f" {each} " in bar or f"[{each}]" in bar]
            assert "".join(shown).replace(" ", "") == re.sub(r"[^A-Za-z]", "", bar)
            last = tabs.index(shown[-1])
            assert bar.endswith(">") == (last < len(tabs) - 1)
            assert bar.startswith("<") == (shown[0] != tabs[0])
            assert link_at(spans, len(bar) - 1) == str(last + bar.endswith(">"))
            if bar.startswith("<"):
                assert link_at(spans, 0) == str(tabs.index(shown[0]) - 1)


def test_the_trail_goes_back_and_forward_and_forgets_what_lay_ahead():
    trail, places = ViewHistory(), [VisitedView(name) for name in "abcd"]
    for here, there in pairwise(places):
        trail.visit(here, there)
    assert trail.step(places[3], -1) == places[2]
    assert trail.step(places[2], -1) == places[1]
    assert trail.step(places[1]._replace(page=2), 1) == places[2]
    assert trail.step(places[2], -1) == places[1]._replace(page=2)
    trail.visit(places[1], VisitedView("e"))
    assert trail.step(VisitedView("e"), 1) is None
    assert trail.step(VisitedView("e"), -1) == places[1]


def test_the_trail_has_an_end_and_a_beginning():
    trail = ViewHistory()
    assert trail.step(VisitedView("a"), -1) is None
    for number in range(1000):
        trail.visit(VisitedView(str(number)), VisitedView(str(number + 1)))
    steps = 0
    here = VisitedView("1000")
    while (there := trail.step(here, -1)) is not None:
        here, steps = there, steps + 1
    assert steps < 1000


# --- counts and times that agree with each other


@pytest.fixture(scope="module")
def all_failed():
    """A run in which preparation fails on two nodes, and a third one saves the job, at its end."""
    simulation = simulation_at(0, "preparation-fails-everywhere")
    while simulation.advance(simulation.end_ms, 256):
        pass
    simulation.finish()
    return simulation


def test_the_page_of_a_task_has_its_states_in_order_and_says_everything_once(all_failed):
    page = the(Session(all_failed), ItemRef("task", 1))
    page.rows = 40
    names, times = (plain(each).split() for each in page.head(116))
    assert [word for word in names if word.isalpha()] == ["active", "preparing", "running", "completed"]
    assert times == ["08:00:00", "00:24:31", "×2", "08:01:30", "00:00:21", "08:24:52", "00:03:01", "08:27:53"]
    lines = [plain(each).split() for each in page.lines(0, 116)]
    assert lines.count(["Attempts"]) == 1
    assert any(each[:2] == ["State", "completed"] for each in lines)
    assert [each[0] for each in lines if "PREP-8" in each] == ["n1"]
    assert [each[:2] for each in lines if each[:1] == ["1"]] == [["1", "n2"]]


def test_a_task_that_went_back_to_the_queue_is_not_said_to_be_elsewhere(session_at):
    session = session_at(480, "preparation-fails-everywhere")
    recent = page(session, ItemRef("node", 0), "Recent tasks")
    assert any(line.split()[:4] == ["◌", "frame-1", "shot-0815", "active"] for line in recent)


def test_the_overviews_of_a_task_and_a_pool_continue_where_there_is_room(all_failed):
    for subject, titles in (
        (ItemRef("task", 1), ["Attempts", "History"]),
        (ItemRef("pool", "render"), ["Nodes", "Properties"]),
    ):
        page = the(Session(all_failed), subject)
        page.rows = 48
        overview = page.tabs.index("Overview")
        lines = [plain(each).strip() for each in page.lines(overview, 116)]
        assert len(lines) <= page.rows
        assert [title for title in titles if not any(each.split("  ")[0] == title for each in lines)] == []
        page.rows = 14
        assert len(page.lines(overview, 116)) < len(lines)


def test_the_bar_of_a_preparation_counts_failures_and_puts_none_where_the_tasks_begin(all_failed):
    session = Session(all_failed)
    lanes = Lanes(all_failed)
    lanes.update()
    rows = JobRows(session, lanes)
    ((preparation, *_),) = rows.tracks(rows.order(only_failed=False)[0], None)
    assert (preparation.name, preparation.short, preparation.ending) == ("preparation ✗2", "prep ✗2", None)


def test_the_bar_of_a_preparation_counts_the_nodes_that_the_list_of_jobs_counts(session_at):
    session = session_at(600, "mpi-in-trouble")  # on one of five nodes it must run again
    lanes = Lanes(session.simulation)
    lanes.update()
    rows = JobRows(session, lanes)
    bars = [bar for key in rows.order(only_failed=False) for track in rows.tracks(key, None) for bar in track]
    (preparation,) = [bar for bar in bars if bar.short.startswith("prep")]
    jobs = JobsModel(session)
    jobs.update()
    listed = jobs.texts_of((jobs.place_of("forecast"),), jobs.column_names.index("Preparation"))[0]
    assert (preparation.notes, listed) == (("5 of 5 nodes",), "5/5 ✗1")


def test_the_tabs_of_a_job_count_the_rows_of_their_lists(all_failed):
    app, seen = Dashboard(all_failed, Settings(), plays=False), []
    drive(app, lambda app: seen.extend(text_of(app)), size=(120, 40))
    assert contains(seen, "Preparation 3  Tasks 3  Release 1  ")


def test_a_run_of_a_preparation_that_was_retried_has_its_end_and_an_interrupted_one_says_so():
    prep = a_line(20, simulate={"attempts": [{"exitCode": 1}]}, constraints={"maxTaskRetryCount": 3})
    sim = simulation(a_job(tasks=1, prep=prep), pool=a_pool(targetDedicatedNodes=1))
    run_to(sim, minutes=5)
    ((_, (first, second)),) = instance_runs(Session(sim), NodeHistory(sim, 0).instance_runs("j", is_release=False))
    assert [plain((span,)) for _, span in (first, second)] == [
        "first, 08:00:50 → 08:01:11, exit 1, retried",
        "retry, 08:01:11 → 08:01:32, exit 0",
    ]
