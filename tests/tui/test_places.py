"""Bookmarks, comparisons, links, what is in focus, and tasks that are added."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from engine.base.errors import BatchError
from engine.specs.commands import DisableJobSchedule, RebootNode, ResizePool
from engine.studies.measures import Row, figures_of_run
from engine.studies.outcome import label, value_text
from tests.builders import a_job, a_pool, run_to, simulation
from tests.tui.acting import commands_of, trial_of
from tests.tui.driving import drive, look
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.actions.menu import actions_for, trial_result_lines
from tui.viewmodels.format import words_of
from tui.viewmodels.moments import Bookmarks, compare_lines
from tui.viewmodels.text import ItemRef, plain, width

LATER_S = 330


def told(session, one, other, cells=100):
    lines = compare_lines(session, one, other, cells)
    assert max(map(width, lines)) <= cells
    return [" ".join(plain(each).split()) for each in lines]


def notes(app):
    return messages_of(app)


# --- views


def test_a_view_is_whole_on_whatever_way_it_is_reached(dashboard_at):
    ways = [("4", "1"), ("4", "enter", "1"), ("8", "1"), ("3", "escape"), ("5", "escape")]
    seen = []
    drive(dashboard_at(LATER_S), look(seen), *chain.from_iterable((*keys, look(seen)) for keys in ways))
    for keys, lines in zip(ways, seen[1:], strict=True):
        assert lines == seen[0], keys


# --- bookmarks and comparisons


def test_moments_of_later_days_stand_whole_in_a_comparison(session_at):
    session = session_at(3 * 86_400, "nightly-schedule-overruns")
    bookmarks = Bookmarks(session)
    bookmarks.add()
    session.simulation.seek(2 * 86_400_000)
    lines = told(session, bookmarks.here(), bookmarks.others()[0])
    ends = [each.partition("job-1 ")[2] for each in lines if each.startswith("end of ") and "job-1 " in each]
    assert len(ends) == 1
    assert re.fullmatch(r"(\d\d-\d\d \d\d:\d\d:\d\d ?){2}", ends[0])


def test_a_moment_is_bookmarked_once_and_gone_to_by_its_digit(dashboard_at):
    app = dashboard_at(LATER_S)
    moments, said = [], []
    drive(
        app,
        *("B", "t", *"100", "enter", "B", "B", "apostrophe", "1"),
        lambda app: moments.append(app.session.now_ms),
        *("apostrophe", "2"),
        lambda app: moments.append(app.session.now_ms),
        lambda app: said.extend(notes(app)),
    )
    assert moments == [330_000, 100_000]
    assert [note.split(".")[0] for note in said] == [
        "Bookmark 1: 08:05:30",
        "Bookmark 2: 08:01:40",
        "Bookmark 2: 08:01:40",
    ]


def test_without_bookmarks_it_says_how_to_set_one(dashboard_at):
    said = []
    drive(
        dashboard_at(LATER_S),
        "apostrophe",
        lambda app: said.extend(notes(app)),
        *("escape", "c"),
        lambda app: said.extend(notes(app)),
    )
    assert said[0] == "There is no bookmark yet: B sets one."
    assert said[-1].startswith("There is nothing to compare with yet")


def test_two_moments_of_a_run_stand_in_two_columns_with_their_difference(session_at):
    session = session_at(100)
    bookmarks = Bookmarks(session)
    assert bookmarks.others() == []
    assert bookmarks.add() == 1
    session.simulation.run_until(LATER_S * 1000)
    session.update()
    lines = told(session, bookmarks.here(), bookmarks.others()[0])
    assert lines[0] == "08:01:40 08:05:30 difference percent"
    assert "tasks succeeded 0 22 +22" in lines
    assert "preparation runs 8 9 +1 +12.5 %" in lines
    assert any(line.startswith("node hours 0.") for line in lines)
    assert any(line.startswith("cost $") for line in lines)
    assert lines[-1] == "Both are moments of the same run."


def test_times_of_preparation_are_those_of_the_command(session_at):
    session = session_at(100)
    bookmarks = Bookmarks(session)
    bookmarks.add()
    session.simulation.run_until(LATER_S * 1000)
    session.update()
    lines = told(session, bookmarks.here(), bookmarks.others()[0])
    one = Row("preparationSeconds", None, figures_of_run(session.simulation).measures["preparationSeconds"])
    assert any(line.startswith(label(one)) and f" {value_text(one, one.b)}" in line for line in lines)


def test_differences_are_those_of_the_command_and_the_later_moment_stands_right(session_at):
    session = session_at(LATER_S)
    bookmarks = Bookmarks(session)
    bookmarks.add()
    session.simulation.seek(200_000)
    session.update()
    here, there = bookmarks.here(), bookmarks.others()[0]
    lines = told(session, here, there)
    assert lines == told(session, there, here)
    assert lines[0].startswith("08:03:20 08:05:30")
    starts = next(line for line in lines if line.startswith("task starts "))
    a, b = (int(word) for word in starts.split()[2:4])
    changed = Row("", a, b)
    assert starts.endswith(f"{changed.difference:+} {changed.percent:+.1f} %")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_two_runs_are_compared_at_the_same_moment_and_at_their_ends_and_named_by_what_was_done(dashboard_at, size):
    app = dashboard_at(LATER_S)
    app.animation_level = "none"  # else the sheet is seen while it scrolls
    seen = []
    drive(
        app,
        *("t", *"480", "enter", "t", *"200", "enter", "b", "3", "a", "enter", "enter"),  # a reboot that had not been
        *("t", *"330", "enter", "c", "1"),
        lambda app: seen.extend(text_of(app)),
        "end",
        lambda app: seen.extend(text_of(app)),
        size=size,
    )
    told = [" ".join(line.strip(" │").split()) for line in seen]
    assert contains(told, "The runs part at 08:03:20.", "B: this run, after: reboot node n0 of shared.")
    assert contains(told, "A: the earlier run, without further commands by hand.")
    assert contains(told, "At 08:05:30, the same moment", "A B difference percent")
    assert not contains(told, "CommandAccepted")


def test_after_an_action_the_run_without_it_can_be_compared_with(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(app, *("3", "a", "enter", "enter", "c"), lambda app: seen.append(text_of(app)), "1")
    offered = [" ".join(line.strip(" │").split()) for line in seen[0]]
    assert contains(offered, "the run without what was done by hand")


def test_on_a_small_screen_a_comparison_fits_and_names_what_is_the_same(session_at):
    session = session_at(300, "priorities-and-fairness")
    bookmarks = Bookmarks(session)
    bookmarks.note([])
    session.simulation.submit(ResizePool(pool_id=session.pool_id, target_dedicated_nodes=1))
    while session.ahead.advance(10_000):
        pass
    (untouched,) = bookmarks.others()
    small, wide = (told(session, bookmarks.here(), untouched, cells=cells) for cells in (73, 110))
    assert len(small) < len(wide)
    assert any(line.startswith("The same in both: ") for line in small)
    assert not any(line.startswith("pools created 1 1") for line in small)
    assert any(line.startswith("pools created 1 1") for line in wide)


def test_a_comparison_has_small_differences_of_cost_and_the_expectations_that_only_one_run_breaks(session_at):
    session = session_at(300, "priorities-and-fairness")
    bookmarks = Bookmarks(session)
    resize = ResizePool(pool_id=session.pool_id, target_dedicated_nodes=1)
    trial = trial_of(session, [resize])
    dialog = [" ".join(plain(each).split()) for each in trial_result_lines(session, trial, 200)]
    while session.ahead.advance(10_000):
        pass
    bookmarks.keep_run(session.now_ms)
    session.simulation.submit(resize)
    while session.simulation.advance(session.simulation.end_ms, 256):
        pass
    session.simulation.finish()
    session.update()
    lines = told(session, bookmarks.here(), bookmarks.others()[0], cells=160)
    cost = next(line for line in lines if line.startswith("cost $"))
    assert "+$0.0036 +7.5 %" in cost
    broken = [line for line in lines if line.startswith("Only B breaks")]
    assert [line for line in dialog if line.startswith("breaks")] == [
        *(line.removeprefix("Only B ").removesuffix(".") for line in broken[:3]),
        "breaks 1 more",
    ]
    assert broken[0].startswith("Only B breaks expectation 4, job urgent at 08:06:00: tasks running")
    known = ("Only B", "At the end", "until", "end of", "cost $", "jobs", "At 0")
    shown = [next(start for start in known if line.startswith(start)) for line in lines if line.startswith(known)]
    assert list(dict.fromkeys(shown))[: len(known)] == list(known)  # what decides comes first
    assert dialog[0] == "What would happen from now on"


def test_the_earlier_run_is_compared_at_the_moment_that_is_shown_not_at_its_end(session_at):
    session = session_at(480)
    session.simulation.seek(200_000)
    session.update()
    bookmarks = Bookmarks(session)
    bookmarks.keep_run(session.now_ms)
    session.simulation.branch()
    session.simulation.submit(RebootNode(pool_id="shared", node=0))
    session.simulation.run_until(240_000)
    session.update()
    lines = told(session, bookmarks.here(), bookmarks.others()[0])
    ends, same = (lines.index(each) for each in lines if each.endswith("A B difference percent"))
    of_both = dict(line.rsplit(maxsplit=1) for line in lines[same:] if line)
    assert not any(label.startswith("end of") for label in of_both)
    assert "until 08:08:00 08:04:00 -00:04:00 -50.0 %" in lines[ends:same]


def test_a_run_that_was_not_played_as_far_is_compared_at_its_last_moment_only(session_at):
    session = session_at(200)
    bookmarks = Bookmarks(session)
    bookmarks.note([])
    session.simulation.submit(RebootNode(pool_id="shared", node=0))
    session.simulation.run_until(260_000)
    session.simulation.seek(230_000)
    session.update()
    (untouched,) = (each for each in bookmarks.others() if not each.left.inputs)
    lines = told(session, bookmarks.here(), untouched)
    assert "A has not been played as far as 08:03:50: both are compared at its last moment." in lines
    assert [each for each in lines if "the same moment" in each] == [
        "At 08:03:20, the same moment A B difference percent"
    ]
    assert not any("08:04:20" in each or each.startswith(("until", "As far")) for each in lines)


def test_jobs_of_the_earlier_run_keep_their_names(session_at):
    session = session_at(1200, "nightly-schedule-overruns")
    session.simulation.run_until(session.simulation.end_ms)
    session.update()
    session.simulation.seek(60_000)
    session.update()
    bookmarks = Bookmarks(session)
    bookmarks.keep_run(session.now_ms)
    session.simulation.branch()
    session.simulation.submit(DisableJobSchedule(job_schedule_id="nightly-risk"))
    session.simulation.run_until(120_000)
    session.update()
    lines = told(session, bookmarks.here(), bookmarks.others()[0], cells=120)
    assert any(line.startswith("end of nightly-risk:job-1 ") and line.endswith(" not yet") for line in lines)
    assert not contains(lines, "job number")
    assert contains(lines, "B: this run, after: disable job schedule nightly-risk.")


def test_a_refused_command_is_called_refused(session_at):
    session = session_at(200)
    bookmarks = Bookmarks(session)
    bookmarks.note([])
    with pytest.raises(BatchError):
        session.simulation.submit(DisableJobSchedule(job_schedule_id="nobody"))
    session.simulation.run_until(300_000)
    session.update()
    lines = " ".join(told(session, bookmarks.here(), bookmarks.others()[0], cells=120))
    assert "B: this run, after: disable job schedule nobody (refused: JobScheduleNotFound)." in lines


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("resizePool", {"poolId": "p", "targetDedicatedNodes": 20}, "resize pool p to 20"),
        ("resizePool", {"poolId": "p", "targetLowPriorityNodes": 4}, "resize pool p to 4 Spot nodes"),
        ("rebootNode", {"poolId": "p", "node": 3}, "reboot node n3 of p"),
        ("disableNodeScheduling", {"poolId": "p", "node": 3}, "disable node n3 of p scheduling"),
        ("terminateJob", {"jobId": "j"}, "terminate job j"),
        ("terminateTask", {"jobId": "j", "taskId": "t"}, "terminate task t of j"),
        ("enablePoolAutoScale", {"poolId": "p", "autoScaleFormula": "x"}, "enable pool p autoscale"),
        ("addTasks", {"jobId": "j", "tasks": [{}, {}]}, "add 2 tasks to j"),
        ("createPool", {"id": "p"}, "create pool p"),
        ("capacity", {"location": "x"}, "capacity"),
    ],
)
def test_commands_in_words(name, body, words):
    assert words_of(name, body) == words


def test_only_the_last_runs_are_kept(session_at):
    session = session_at(LATER_S)
    bookmarks = Bookmarks(session)
    for second in range(300, 290, -1):
        session.update()
        session.simulation.seek(second * 1000)
        session.update()
        bookmarks.keep_run(session.now_ms)
        session.simulation.branch()
    assert [run.name for run in bookmarks.others()] == [
        f"the run before the branch at 08:04:{second}, untouched" for second in range(54, 50, -1)
    ]


def test_the_newest_moment_can_be_compared_with_from_the_past(session_at):
    session = session_at(LATER_S)
    session.simulation.seek(100_000)
    session.update()
    (newest,) = Bookmarks(session).others()
    assert (newest.name, newest.until_ms) == ("the newest moment", 330_000)


# --- links and focus


def test_another_job_and_pool_are_chosen_for_the_focus(dashboard_at):
    app = dashboard_at(400, "shared-pool-two-jobs")
    focus = []
    drive(
        app,
        *("J", "2"),
        lambda app: focus.append(app.session.job_id),
        *("P", "enter"),
        lambda app: focus.append(app.session.pool_id),
    )
    assert focus == ["credit", "desks"]


def test_of_many_jobs_those_that_contain_what_is_typed_are_offered():
    sim = simulation(*(a_job(f"night-{at:02}") for at in range(30)), pool=a_pool(nodes=1))
    run_to(sim, seconds=30)
    app, seen = Dashboard(sim, plays=False), []

    def read(app):
        seen.append(text_of(app))

    drive(app, "J", read, *"1 night", read, "down", "enter", lambda app: seen.append(app.session.job_id))
    assert contains(seen[0], "Job in focus", "30 of 30", "night-00")
    assert contains(seen[1], "12 of 30", "night-01", "night-10")
    assert not contains(seen[1], "night-02")
    assert seen[2] == "night-10"


def test_esc_leaves_a_picker_without_going_anywhere(dashboard_at):
    app = dashboard_at(LATER_S)
    depths = []
    drive(
        app,
        "J",
        lambda app: depths.append(len(app.screen_stack)),
        "escape",
        lambda app: depths.append(len(app.screen_stack)),
    )
    assert depths == [2, 1]


# --- tasks that are added


def add_tasks(session, **answers):
    (action,) = (each for each in actions_for(session, [ItemRef("job", "risk")]) if each.command == "addTasks")
    named = {name if name == "count" else f"task.{name.replace('_', '.')}": text for name, text in answers.items()}
    return commands_of(action, answers={**action.defaults, **named})


def test_one_task_is_listed_and_several_are_a_factory(session_at):
    session = session_at(LATER_S)
    (one,) = add_tasks(session, dependsOn_taskIds="deal-1 deal-2", requiredSlots="2")
    assert [task.id for task in one.tasks] == ["task"]
    assert one.tasks[0].required_slots == 2
    assert one.tasks[0].depends_on.task_ids == ("deal-1", "deal-2")
    (many,) = add_tasks(session, count="1000")
    assert many.tasks == ()
    session.simulation.submit(many)
    session.update()
    assert session.job("risk").phases.tasks.total == 1040
    assert session.tasks("risk").find("task-1000") is not None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"count": "many"}, "How many: 'many' must be a whole number"),
        ({"count": "0"}, "How many: 0 must be between 1 and 1,000"),
        ({"requiredSlots": "two"}, "Required slots: 'two' must be a whole number"),
        ({"simulate_duration": "soon"}, "Runs for: 'soon' is not a duration: write 90s, 2m"),
    ],
)
def test_what_is_wrong_in_the_form_is_said(session_at, answer, said):
    with pytest.raises(ValueError, match=said):
        add_tasks(session_at(LATER_S), **answer)


def test_the_form_tries_out_and_adds(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("A", *"add tasks", "enter"),
        lambda app: seen.append(text_of(app)),
        *("down", "end", *"000", "down", "down", "end", *"soon"),
        lambda app: seen.append(text_of(app)),
        *(*["backspace"] * 8, *"2m", "ctrl+s"),
        lambda app: seen.append(notes(app)),
    )
    assert contains(seen[0], "Add tasks to risk", "Simulated until", "tasks succeeded")
    assert contains(seen[1], "'PT1Msoon' is not a duration: write")
    assert not contains(seen[1], "Simulated until")
    assert any("addTasks accepted" in note for note in seen[2])
    assert app.session.job("risk").phases.tasks.total == 1040
