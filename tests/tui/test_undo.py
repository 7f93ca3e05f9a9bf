"""Taking back what was done by hand, doing it again, and opening runs that were left."""

from __future__ import annotations

import random

import pytest

from engine import Simulation
from engine.specs.commands import COMMANDS, ResizePool
from engine.views.resources.jobs import pool_row
from tests.tui.driving import drive, look
from tests.tui.screen_text import contains, messages_of
from tui.viewmodels.moments import Bookmarks

LATER_S = 330
RESIZE = ("2", "a", *"resize", "enter", "8", "ctrl+s")


def by_hand(app):
    return [(one.when_ms, one.command.NAME) for one in app.session.simulation.by_hand]


def replayed(simulation):
    """The log of a run of the same scenario with the commands that remain, played anew."""
    fresh = Simulation(simulation.scenario, simulation.seed)
    fresh.adopt(simulation.by_hand)
    fresh.run_until(simulation.now_ms)
    return list(fresh.json_lines())


def is_as_played_anew(simulation):
    simulation.run_until(simulation.now_ms)
    return list(simulation.json_lines()) == replayed(simulation)


def test_a_resize_is_taken_back_in_one_key_and_done_again_in_one_and_the_saved_script_agrees(dashboard_at):
    app, seen, scripts = dashboard_at(LATER_S), [], []
    note = lambda app: seen.append((by_hand(app), app.session.now_ms, app.session.is_past))  # noqa: E731
    drive(app, *RESIZE, note, "X", look(scripts), "u", note, look(scripts), "U", note, look(scripts))
    done, undone, again = seen
    assert done == ([(LATER_S * 1000 + 1, "resizePool")], LATER_S * 1000 + 1, False)
    assert undone == ([], LATER_S * 1000, False)
    assert again == done
    assert contains(messages_of(app), "Taken back: resize", "U does it again", "Done again. u takes it back.")
    assert [contains(lines, "resizePool") for lines in scripts] == [True, False, True]
    assert app.recorder.is_unsaved
    assert is_as_played_anew(app.session.simulation)


def test_after_some_time_it_says_how_far_time_goes_back_and_nothing_changes_without_a_yes(dashboard_at):
    app, seen, kept = dashboard_at(LATER_S), [], []
    keep = lambda app: kept.append((by_hand(app), app.session.now_ms))  # noqa: E731
    drive(app, *RESIZE, "t", *"+2m", "enter", "u", look(seen), "n", keep, "u", "escape", keep,
          "u", "u", look(seen), keep, "U", keep)  # fmt: skip
    assert contains(seen[0], "Take back: resize", "Time goes back by 00:02:00")
    assert not contains(seen[1], "Take back:")
    whole = [(LATER_S * 1000 + 1, "resizePool")], LATER_S * 1000 + 120_001
    assert kept == [whole, whole, ([], LATER_S * 1000), whole]


def test_in_the_past_the_last_command_before_goes_and_what_was_done_later_is_named(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    other = ("6", "a", *"reboot", "enter", "enter")
    drive(app, *RESIZE, "t", *"+1m", "enter", *other, "t", *"+10s", "enter", "t", *"-30s", "enter",
          "u", look(seen), "enter", look(seen), "U")  # fmt: skip
    assert contains(seen[0], "It undoes what was done later: reboot")
    assert app.session.now_ms == LATER_S * 1000 + 40_002
    assert [name for _, name in by_hand(app)] == ["resizePool", "rebootNode"]
    assert app.session.is_past
    assert is_as_played_anew(app.session.simulation)


def test_what_is_not_there_cannot_be_taken_back_and_a_new_command_leaves_nothing_to_do_again(dashboard_at):
    app, counts = dashboard_at(LATER_S), []
    none_left = ("there is nothing to take back", "There is nothing to do again")
    note = lambda app: counts.append([sum(text in said for said in messages_of(app)) for text in none_left])  # noqa: E731
    drive(app, "u", "U", note, *RESIZE, "t", *"-30s", "enter", "u", note, "t", *"+30s", "enter", "u", note,
          "6", "a", *"reboot", "enter", "enter", "U", note)  # fmt: skip
    assert counts == [[1, 1], [2, 1], [2, 1], [2, 2]]
    assert [name for _, name in by_hand(app)] == ["rebootNode"]


def test_marked_rows_are_one_step_and_a_refused_command_is_taken_back_too(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    note = lambda app: seen.append(len(by_hand(app)))  # noqa: E731
    drive(app, "5", "!", "M", "a", "down", "enter", "enter", note, "u", note)
    assert seen[0] > 1
    assert seen[1] == 0


def test_a_branch_keeps_the_run_that_is_left_and_it_is_opened_again(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(app, *RESIZE, "comma", "comma", "b", "apostrophe", look(seen), "1", look(seen))
    assert contains(seen[0], "1  the run before the branch at")
    assert [name for _, name in by_hand(app)] == ["resizePool"]
    assert app.session.is_past
    assert contains(messages_of(app), "This is the run before the branch at")
    assert is_as_played_anew(app.session.simulation)


def nodes_shown(app):
    return pool_row(app.session.simulation, app.session.pool_id).nodes


def test_a_bookmark_of_a_run_that_was_left_opens_that_run_at_its_moment(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    note = lambda app: seen.append((by_hand(app), app.session.now_ms, nodes_shown(app)))  # noqa: E731
    drive(app, *RESIZE, "t", *"+8m", "enter", "B", note,  # eight nodes
          "t", *"-9m", "enter", "b", "t", *"+9m", "enter", note,  # the run without the resize
          "apostrophe", look(seen), "1", note)  # fmt: skip
    bookmarked, without, jump, again = seen
    assert without[1:] != bookmarked[1:]
    assert without[0] == []
    assert contains(jump, "in a run that was left")
    assert again == bookmarked
    assert contains(messages_of(app), ", in a run that was left.")
    assert is_as_played_anew(app.session.simulation)


def test_a_bookmark_whose_moment_both_runs_have_stays_in_the_present_one(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "B", *RESIZE, "t", *"+1m", "enter", "t", *"-70s", "enter", "b", "apostrophe", "1")
    assert by_hand(app) == []
    assert app.session.now_ms == LATER_S * 1000


def test_the_same_moment_of_another_run_is_another_bookmark_and_is_compared_as_that_run(session_at):
    session = session_at(LATER_S)
    steps = Steps(session, random.Random(1))
    steps.give()
    session.simulation.run_until(session.now_ms + 60_000)
    session.update()
    there_ms = session.now_ms
    assert steps.bookmarks.add() == 1
    session.simulation.seek(LATER_S * 1000)
    steps.branch()
    assert session.bookmarked_ms == []
    session.simulation.run_until(there_ms)
    session.update()
    assert steps.bookmarks.add() == 2
    (other,) = [each for each in steps.bookmarks.others() if each.name.startswith("bookmark 1")]
    assert other.left.inputs != session.simulation.by_hand
    assert other.until_ms == there_ms


def resize(nodes):
    return ResizePool.from_wire({"poolId": "p", "targetDedicatedNodes": nodes})


class Steps:
    """Random commands, ways through time, branches, and what takes them back."""

    def __init__(self, session, chance):
        self.session, self.chance = session, chance
        self.bookmarks = Bookmarks(session)
        self.pools = [pool.spec.id for pool in session.simulation.scenario.pools]

    def give(self):
        if self.session.is_past:
            return
        wanted = [
            ResizePool.from_wire({"poolId": pool, "targetDedicatedNodes": self.chance.randrange(6)})
            for pool in self.pools[: self.chance.randrange(1, 3)]
        ]
        self.bookmarks.note(wanted)
        self.session.simulation.submit_all(wanted)

    def move(self):
        self.session.simulation.seek(max(0, self.session.now_ms + self.chance.randrange(-90_000, 120_000)))

    def step(self):
        self.session.simulation.step()

    def branch(self):
        if self.session.is_past:
            self.bookmarks.branch(self.session.now_ms)

    def undo(self):
        last = self.bookmarks.last()
        if last is not None:
            shown_ms = self.session.now_ms
            self.session.simulation.seek(last.to_ms)
            self.bookmarks.branch(shown_ms)

    def redo(self):
        if self.bookmarks.taken_back is not None:
            self.open(self.bookmarks.taken_back)

    def reopen(self):
        if self.bookmarks.runs:
            self.open(self.chance.choice(self.bookmarks.runs).left)

    def open(self, run):
        self.bookmarks.open(run)
        assert self.session.simulation.by_hand == run.inputs
        self.session.simulation.seek(run.shown_ms)


@pytest.mark.parametrize("seed", range(12))
def test_any_sequence_ends_in_the_log_of_the_commands_that_remain(session_at, seed):
    chance = random.Random(seed)
    session = session_at(60)
    steps = Steps(session, chance)
    ways = [steps.give, steps.give, steps.move, steps.step, steps.branch, steps.undo, steps.undo, steps.redo,
            steps.redo, steps.reopen]  # fmt: skip
    for _ in range(25):
        chance.choice(ways)()
        session.update()
        assert is_as_played_anew(session.simulation)


@pytest.mark.parametrize("seed", range(8))
def test_to_take_back_and_to_do_again_are_inverses(session_at, seed):
    session = session_at(60)
    steps = Steps(session, random.Random(seed))
    for _ in range(4):
        steps.give()
        steps.move()
        session.simulation.seek(session.newest_ms)
        session.update()
    before = session.simulation.by_hand, session.now_ms, list(session.simulation.json_lines())
    for _ in range(3):
        steps.undo()
        session.update()
    for _ in range(3):
        steps.redo()
        session.update()
    assert (session.simulation.by_hand, session.now_ms, list(session.simulation.json_lines())) == before


# -- the speed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("faster", [0, 3])
def test_no_action_changes_the_speed(dashboard_at, faster):
    """A job that is terminated makes the run many times as short."""
    app, speeds = dashboard_at(60, "forty-nodes"), []
    known = lambda app: app.workers.wait_for_complete()  # noqa: E731
    note = lambda app: speeds.append(app.speed_now)  # noqa: E731
    short = ("A", *"terminate", "enter", "ctrl+s", known, note)
    drive(app, known, *["right_square_bracket"] * faster, note, *short, "u", known, note, "U", known, note,
          "comma", "b", known, note, "ctrl+r", "d", known, note)  # fmt: skip
    assert len(speeds) == 6
    assert len(set(speeds[:5])) == 1
    assert speeds[5] == speeds[0]


def test_taking_back_what_was_created_gives_back_the_focus_that_was_before(session_at):
    session = session_at(LATER_S)
    bookmarks, shown_ms = Bookmarks(session), session.now_ms
    session.focus_job(session.job_id)
    before, simulation = session.focus, session.simulation
    for name in ("one", "two"):
        command = COMMANDS["createJob"].from_wire({"id": name, "poolInfo": {"poolId": session.pool_id}})
        bookmarks.note([command])
        simulation.submit(command)
        session.update()
        session.focus_job(name)
    simulation.seek(shown_ms)
    bookmarks.branch(session.now_ms)
    assert session.focus == before
    assert session.job(session.job_id) is not None
