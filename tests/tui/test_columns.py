"""Columns, details and footers of the lists, as the design has them."""

from __future__ import annotations

import json

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.glyphs import NODE
from tui.viewmodels.lists.columns import Column, layout
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobSchedulesModel, JobsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.study import short_head
from tui.viewmodels.text import block_lines, plain
from tui.widgets.table import Table

LATER_S = 330
HOOK = ("Node", "State", "Result", "Start time", "End time", "Exit code")
# What is shown where the list has the whole width of 120 cells, and what can be chosen beyond that.
SHOWN = {
    PreparationModel: (*HOOK, "Retries", "Duration"),
    ReleaseModel: (*HOOK, "Duration"),
    NodesModel: ("Node", "State", "Scheduling state", "Running tasks", "Focus job", "Total tasks run"),
    PoolsModel: ("Pool", "State", "Allocation state", "Node size", "Dedicated", "Spot", "Node counts"),
    JobsModel: ("Job", "State", "Priority", "Pool", "Preparation", "Tasks", "Release"),
    TasksModel: (
        *("Task", "State", "Result", "Node", "Created", "Start time", "End time", "Exit code", "Retries"),
        "Requeues",
    ),
}
_FAILURE = ("Failure category", "Failure code", "Runs", "Node state", "Pool")
MORE = {
    PreparationModel: ("Last retry time", "Triggered by", "Ineligible", *_FAILURE),
    ReleaseModel: _FAILURE,
    NodesModel: (
        *("Total successful tasks", "State transition time", "Last boot time", "Allocation time", "Node size"),
        *("Dedicated", "Start task", "Errors", "Age in state", "IP address"),
    ),
    PoolsModel: ("Autoscale", "Task slots per node", "Scheduling policy", "Resize errors", "Jobs", "Utilisation"),
    JobsModel: (
        *("Started", "End", "Max parallel tasks", "On all tasks complete", "On task failure", "Previous state"),
        *("Uses task dependencies", "Allow task preemption", "Termination reason", "Waiting for"),
    ),
    TasksModel: (
        *("Required slots", "Waiting for", "Duration", "Attempts", "Depends on", "Affinity"),
        *("Failure category", "Failure code"),
    ),
}


def names(model, cells):
    return [model.columns[at].name for at, _ in model.layout(cells) if model.columns[at].name]


def only(model, name):
    """The cells of one column, in the order of the rows."""
    at = [column.name for column in model.columns].index(name)
    model.chosen_columns = frozenset({name})
    model.update()
    return [model.cells(model.key(row))[at].text.strip() for row in range(model.count)]


def details(model, row=0):
    model.update()
    return [" ".join(plain(each).split()) for each in block_lines(model.details(model.key(row)), 90)]


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.title)
def test_the_columns_of_a_list(session_at, kind):
    model = kind(session_at(LATER_S))
    assert set(SHOWN[kind]) <= set(names(model, 116))
    assert names(model, 76)[0] == SHOWN[kind][0]
    assert len(names(model, 76)) >= 5
    assert set(MORE[kind]) <= {column.name for column in model.columns}
    for name in MORE[kind]:
        only(model, name)
        assert name in names(model, 76)


def test_columns_become_narrower_before_one_is_left_out():
    columns = [Column("a", 10, stretch=True), Column("b", 10, least=4), Column("c", 8, from_width=1, least=6)]
    assert layout(columns, 40) == [(0, 19), (1, 10), (2, 8)]
    assert layout(columns, 27) == [(0, 10), (1, 6), (2, 8)]
    assert layout(columns, 23) == [(0, 10), (1, 4), (2, 6)]
    assert layout(columns, 22) == [(0, 10), (1, 10)]
    assert layout(columns, 16) == [(0, 10), (1, 4)]


# --- nodes, pools, jobs, tasks


def test_a_node_has_its_start_task_and_errors_in_columns():
    sim = simulation(pool=a_pool(startTask=a_line(5, exit_code=3, maxTaskRetryCount=1, waitForSuccess=True)))
    run_to(sim, minutes=5)
    model = NodesModel(Session(sim))
    assert only(model, "Start task") == ["completed, exit 3, 1 retries"]
    assert only(model, "Allocation time") == ["08:00:10"]


def test_a_pool_counts_its_nodes_in_each_state(session_at):
    (counts,) = only(PoolsModel(session_at(LATER_S)), "Node counts")
    expected = {f"{NODE[state].symbol}{number}" for state, number in session_at(LATER_S).pool("shared").node_counts}
    assert set(counts.split()) == expected


def test_a_job_counts_its_tasks_by_state_and_says_what_it_waits_for():
    tasks = [a_task("t1", 10, 1), a_task("t2", 60), a_task("t3", 60)]
    sim = simulation(a_job(tasks=tasks))
    run_to(sim, seconds=READY_S + 30)
    model = JobsModel(Session(sim))
    assert only(model, "Tasks") == ["1 of 3 ✗1 ━━━━╍╍╍───"]
    assert only(model, "Waiting for") == ["1 task to end"]
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run_to(sim, seconds=READY_S + 60)
    assert only(JobsModel(Session(sim)), "Waiting for") == ["a user to enable it"]


def test_a_release_counts_the_nodes_that_owe_one_so_far():
    sim = Simulation(load_scenario("preparation-fails-on-one-node"))
    for until_s, counted in ((100, "0/0"), (300, "0/1"), (600, "1/1")):
        sim.run_until(until_s * 1000)
        assert only(JobsModel(Session(sim)), "Release")[0] == counted  # of align


def test_a_task_says_what_it_waits_for():
    tasks = [
        a_task("1", 600),
        a_task("late", dependsOn={"taskIds": ["1", "2"]}),
        a_task("big", requiredSlots=2),
        a_task("2", dependsOn={"taskIdRanges": [{"start": 1, "end": 1}]}, affinityInfo={"affinityId": "TVM:x"}),
    ]
    sim = simulation(a_job(tasks=tasks, prep=a_line(30), usesTaskDependencies=True), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 5)
    model = TasksModel(Session(sim))
    found = dict(zip(only(model, "Task"), only(model, "Waiting for"), strict=True))
    assert found == {"1": "preparation on n0", "late": "1 and 1 more", "big": "2 free slots", "2": "1 task"}
    assert dict(zip(only(model, "Task"), only(model, "Depends on"), strict=True))["2"] == "1-1"
    assert dict(zip(only(model, "Task"), only(model, "Affinity"), strict=True))["2"] == "TVM:x"
    model.toggle_column("Waiting for")
    model.toggle_column("Waiting for")
    assert "Depends on" not in model.shown_names()


def test_a_limit_of_the_job_is_what_a_task_waits_for():
    sim = simulation(a_job(tasks=2, maxParallelTasks=1), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 5)
    assert only(TasksModel(Session(sim)), "Waiting for") == ["", "its job's limit of 1"]


# --- preparation and release


def test_what_triggered_preparation_and_where_it_bars(session_at):
    model = PreparationModel(session_at(LATER_S))
    triggers = only(model, "Triggered by")
    assert all(each.startswith("deal-") for each in triggers)
    assert only(model, "Ineligible")[0] == "until new disk"
    assert only(model, "Last retry time")[0].startswith("08:0")
    assert only(model, "Node state")[-1].startswith("left the pool at 08:03")


def test_the_duration_of_release_is_that_of_its_run(session_at):
    assert only(ReleaseModel(session_at(250, "release-fails")), "Duration") == ["00:00:01", "00:00:17", "00:00:17"]


def test_nodes_of_a_preparation_are_in_the_order_of_their_status(session_at):
    model = PreparationModel(session_at(360, "spot-evictions"))
    assert "sorted by status, failed ones first" in plain(model.arrangement())


def test_the_details_of_a_preparation_have_effect_runs_and_files(session_at):
    shown = details(PreparationModel(session_at(LATER_S)))
    titles = ["Preparation task", "Runs", "Effect", "Release task", "Node"]
    assert [each for each in shown if each in titles] == titles
    assert "✗ ineligible for this job until its disk is new (PREP-9)" in shown
    assert any(each.endswith("returned to active (PREP-8)") for each in shown)
    at = shown.index("Runs")
    assert shown[at + 1].startswith("1 first, 08:0")
    assert shown[at + 2].startswith("2 retry, 08:0")
    assert shown[at + 2].endswith("exit 3")
    assert shown[-2:] == ["stdout.txt 0 B", "stderr.txt 0 B"]


def test_a_preparation_of_a_job_that_has_ended_is_told_in_the_past(session_at):
    model = PreparationModel(session_at(3_600, "preparation-fails-on-one-node"))
    shown = details(model, only(model, "Ineligible").index("until job end"))
    assert "✗ was ineligible for this job until it ended (PREP-9)" in shown
    assert "sample-2 returned to active (PREP-8)" in shown
    assert not any("active again" in each or "new disk" in each for each in shown)
    assert "was ineligible for this job until it ended" in plain(model.sentence(1))


def test_an_exit_code_of_ten_digits_is_whole(dashboard_at):
    shown = after(dashboard_at(720, "preparation-retries"), "6", size=(80, 24))
    assert contains(shown, "-1073741510")


def test_the_footer_says_how_the_tasks_are_to_run(session_at):
    model = PreparationModel(session_at(LATER_S))
    model.update()
    said = " ".join(plain(each) for each in model.footer())
    for word in ("command line", "wait for success yes", "rerun on node reboot yes", "max retries 1", "retention 7d"):
        assert word in said
    model = ReleaseModel(session_at(LATER_S))
    model.update()
    said = " ".join(plain(each) for each in model.footer())
    assert "max wall-clock 00:15:00" in said
    assert "REL-3" in said


def test_the_footer_takes_as_many_lines_as_it_needs(dashboard_at):
    shown = " ".join(line.strip() for line in after(dashboard_at(1800, "release-fails"), "7", size=(80, 24)))
    assert (
        "max wall-clock 00:15:00  retention 7d 00:00:00 runs where a task ran after preparation (REL-3, REL-4)" in shown
    )


# --- as the service answers


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (PoolsModel, "id", "shared"),
        (NodesModel, "vmSize", "standard_d2s_v3"),
        (JobsModel, "id", "risk"),
        (TasksModel, "commandLine", None),
        (PreparationModel, "jobPreparationTaskExecutionInfo", None),
        (EventsModel, "seq", 1),
    ],
)
def test_a_row_reads_as_the_service_writes_it(session_at, kind, name, value):
    model = kind(session_at(LATER_S))
    model.update()
    body = model.wire(model.key(0))
    assert name in body
    assert value is None or body[name] == value


def test_a_schedule_reads_as_the_service_writes_it(session_at):
    model = JobSchedulesModel(session_at(185_400, "nightly-schedule-overruns"))
    model.update()
    assert model.wire(0)["schedule"]


def test_capital_y_copies_the_row_and_the_thing_as_json(dashboard_at):
    app = dashboard_at(LATER_S)
    copied = []

    def note(app):
        copied.append(app.clipboard)

    drive(app, "3", "Y", note, "enter", "y", note, "Y", note, "1", "Y", note)
    assert json.loads(copied[0])["id"] == copied[1]
    assert json.loads(copied[2])["id"] == copied[1]
    assert json.loads(copied[3])["vmSize"]


# --- the details beside a list


def test_links_in_the_details_are_followed_as_in_a_blade(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(app, "5", "tab", "enter", lambda app: seen.append(app.screen.view.subject))
    assert [subject.kind for subject in seen] == ["job"]


def test_a_list_says_how_it_is_sorted(session_at):
    session = session_at(0)
    assert plain(JobsModel(session).arrangement()).startswith("sorted by age, oldest first")
    assert plain(PoolsModel(session).arrangement()).startswith("sorted by age, oldest first")
    assert plain(NodesModel(session).arrangement()).startswith("sorted by unusable nodes first")


# --- room


ALL = [PreparationModel, ReleaseModel, NodesModel, PoolsModel, JobsModel, TasksModel, EventsModel, JobSchedulesModel]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.title)
def test_heads_are_whole_where_there_is_room(session_at, kind):
    model = kind(session_at(LATER_S))
    needs = [8] * len(model.columns)
    for at, cells in model.layout(model.natural_width(needs), needs):
        assert cells >= len(model.columns[at].name)


def test_columns_of_less_weight_give_way_before_the_names_of_the_rows_are_cut(dashboard_at):
    app, seen = dashboard_at(5400, "one-pool-per-scheduled-job"), []
    drive(app, "4", lambda app: seen.extend(text_of(app)), size=(80, 24))
    assert contains(seen, "half-hourly:job-1")
    columns = (Column("Job", 12, stretch=True, is_id=True), Column("A", 27), Column("B", 20, from_width=60))
    assert layout(columns, 60, (15, 27, 20)) == [(0, 18), (1, 30)]


def test_ids_keep_the_ends_that_tell_them_apart(session_at):
    column = next(each for each in JobsModel(session_at(LATER_S)).columns if each.name == "Job")
    shown = {column.fitted(f"nightly-schedule-of-the-risk-desk:job-{number}", 14) for number in range(1, 4)}
    assert len(shown) == 3


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_details_of_few_rows_stand_below_them(dashboard_at, size):
    seen = []
    drive(dashboard_at(LATER_S), "4", lambda app: seen.append(text_of(app)), size=size)
    head = next(at for at, line in enumerate(seen[0]) if "─ Jobs 1 " in line)
    details = next(at for at, line in enumerate(seen[0]) if "  Details" in line)
    assert details == head + 6
    assert contains(seen[0], "General")


def test_on_a_narrow_screen_details_stand_below_whatever_rows_leave_room(dashboard_at):
    shown = after(dashboard_at(600, "mpi-in-trouble"), "3", size=(80, 24))
    head = next(at for at, line in enumerate(shown) if "─ Nodes 5 " in line)
    assert "  Details" in shown[head + 8]


@pytest.mark.parametrize("height", range(22, 27))
def test_the_lines_below_a_list_do_not_take_the_room_that_they_stand_for(dashboard_at, height):
    """Details bring lines about the whole list, which take room: driving fails where the two go on to and fro."""
    shown = after(dashboard_at(LATER_S), "6", size=(80, height))
    assert contains(shown, "  Details") == (height > 24)


def test_a_hint_counts_the_columns_that_have_no_room(dashboard_at):
    seen = []
    for size in ((80, 24), (200, 60)):
        drive(dashboard_at(LATER_S), "5", lambda app: seen.append(text_of(app)), size=size)
    assert contains(seen[0], "more columns, C")
    assert not contains(seen[1], "more columns, C")


def test_a_long_list_is_sorted_once_the_order_is_chosen(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.widgets.table.AT_ONCE", 10)
    monkeypatch.setattr("tui.widgets.table.CHOICE_S", 3600)  # however slow the machine is
    seen, waiting, set_timer = [], [], Table.set_timer

    def keep_timer(table, seconds, then):
        """Note what the list does when the choice is over."""
        waiting.append(then)
        return set_timer(table, seconds, then)

    monkeypatch.setattr(Table, "set_timer", keep_timer)

    def note(app):
        table = app.screen.view.table
        seen.append((table.model.sort_column, [table.model.key(at) for at in range(5)]))
        waiting[-1]()
        table.update()
        seen.append((table.model.sort_column, [table.model.key(at) for at in range(5)]))

    drive(dashboard_at(LATER_S), "5", "o", "O", note)
    (chosen, before), (sorted_by, after) = seen
    assert chosen == sorted_by
    assert before != after


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_jobs_have_their_ends_without_further_columns_also_those_to_come(dashboard_at, size):
    shown = after(dashboard_at(260, "preparation-fails-on-one-node"), "4", size=size)
    (live,) = [line for line in shown if "align" in line and "active" in line and "2 of 6" in line]
    (over,) = [line for line in shown if "1 of 1" in line]
    assert "08:08:10" in live
    assert "08:04:04" in over


def test_a_factor_of_a_study_has_a_short_head_where_its_name_has_no_room():
    assert [short_head(each) for each in ("maxTaskRetryCount", "render.targetDedicatedNodes", "vmSize")] == [
        "retries",
        "render.dedicated",
        "",
    ]
    column = Column("autoScaleFormula", 14, least=12, is_id=True, short=short_head("autoScaleFormula"))
    assert column.head(14).rstrip() == "formula"
    assert column.head(16) == "autoScaleFormula"


def test_ids_that_a_jump_brings_are_whole():
    text = """
    scenario: many
    pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 3}]
    jobs:
      - id: j
        poolInfo: {poolId: p}
        taskFactory:
          type: parametricSweep
          parameterSets: [{start: 1, end: 100000000000, step: 10000000}]
          repeatTask: {id: "frame-{0}", commandLine: work}
    """
    app = Dashboard(Simulation(load_scenario("many", text=text)), plays=False)
    app.session.simulation.run_until(READY_S * 1000)
    lines = []
    drive(app, "5", "end", lambda app: lines.extend(text_of(app)), size=(80, 24))
    assert contains(lines, "◌ frame-99990000001 ")
