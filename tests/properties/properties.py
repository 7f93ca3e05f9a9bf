"""Promises that every run keeps, whatever is in it: each is a function of a case that fails where one is broken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple
from unittest import mock

from engine import BatchError, Simulation
from engine.rules.processes import output_files
from engine.run import journal
from engine.run import simulation as playing
from engine.run.journal import Origin
from engine.state.tasks import ACTIVE, PREPARING
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.jobs import why_counts, why_job, why_schedule
from engine.views.diagnosis.nodes import why_node, why_preparation
from engine.views.diagnosis.pools import why_pool, why_targets
from engine.views.diagnosis.questions import expected, explain
from engine.views.diagnosis.tasks import why_task
from engine.views.log.series import RunSeries
from engine.views.resources.account import stored_blobs
from engine.views.rest.nodes import tree
from engine.views.results import run_totals
from tests.builders import play_one_by_one
from tests.event_table import check_table
from tests.properties.answers import check_permanent, check_remedies
from tests.properties.figures import check_ahead, check_changed, check_end, check_moment, check_study
from tests.properties.runs import Case, cases, play, submit
from tests.recount import check_series
from tui.viewmodels.session import Session

WHOLE = cases(commands=40, moments=8, tried=15)
"""Cases of which each promise takes a part, so that equal seeds give the same run to all of them."""


class Property(NamedTuple):
    """A promise, and the numbers of commands, moments and trials of the cases that put it to the test."""

    name: str
    holds: Callable[[Case], None]
    commands: int
    moments: int = 0
    trials: int = 0

    def part_of(self, case: Case) -> Case:
        """Return the part of a case that the promise takes."""
        return case.part(self.commands, self.moments, self.trials)

    def check(self, case: Case) -> None:
        """Fail where the case breaks the promise."""
        # Short runs have several checkpoints so.
        with (
            mock.patch.object(journal, "FIRST_DISTANCE", 60),
            mock.patch.object(playing, "SLICE", 100),
        ):
            self.holds(case)


PROPERTIES: dict[str, Property] = {}


def promise(commands: int, moments: int = 0, trials: int = 0) -> Callable[[Callable[[Case], None]], None]:
    """Enter a function into PROPERTIES under its name, with cases of about that size."""

    def enter(holds: Callable[[Case], None]) -> None:
        name = holds.__name__.strip("_")
        PROPERTIES[name] = Property(name, holds, commands, moments, trials)

    return enter


def _played(case: Case) -> tuple[Simulation, list[str]]:
    """Return the simulation at its end, and its log."""
    simulation = case.simulation()
    play(simulation, case.commands)
    return simulation, list(simulation.json_lines())


def _moments(simulation: Simulation, case: Case) -> list[int]:
    return [moment % simulation.end_ms for moment in case.moments]


@promise(commands=40)
def _invariants_hold_after_every_instant(case: Case) -> None:
    """Play with all commands, and with a few, so that much of the run is left to itself.

    All promises take the same runs, so that the others need not check this again.
    """
    for commands in (case.commands, case.commands[:15]):
        play(case.simulation(), commands, checked=True)


@promise(commands=15)
def _events_as_a_table_are_the_events_as_lines(case: Case) -> None:
    simulation, _ = _played(case)
    check_table(simulation, ".arrow")


@promise(commands=25, moments=6)
def _the_log_after_any_seek_is_the_same(case: Case) -> None:
    simulation, recorded = _played(case)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        shown = list(simulation.json_lines())
        assert shown == recorded[: len(shown)]
    simulation.seek(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded


@promise(commands=25, moments=1)
def _a_branch_with_the_same_commands_is_the_same_run(case: Case) -> None:
    simulation, recorded = _played(case)
    given_by_hand = simulation.journal.by_hand()
    simulation.seek(*_moments(simulation, case))
    before = sum(one.when_ms <= simulation.now_ms for one in given_by_hand)
    simulation.branch()
    assert not simulation.is_past
    for one in given_by_hand[before:]:
        simulation.run_until(one.when_ms - 1)
        with suppress(BatchError):  # as it was refused the first time
            simulation.submit(one.command)
    simulation.run_until(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded
    assert all(one.origin is not Origin.CONDITION for one in simulation.journal.by_hand())


@promise(commands=15, trials=15)
def _a_trial_leaves_no_trace(case: Case) -> None:
    tried, plain = case.simulation(), case.simulation()
    for given, trial in zip(case.commands, case.trials, strict=False):
        for simulation in (tried, plain):
            simulation.run_until(simulation.now_ms + given.after_ms)
        with tried.trial():
            tried.submit_all([one.command for one in trial.commands])
            tried.run_until(tried.now_ms + trial.ahead_ms)
        if trial.back_ms is not None:
            here_ms = tried.now_ms
            tried.seek(trial.back_ms % (here_ms + 1))
            tried.seek(here_ms)
        for simulation in (tried, plain):
            submit(simulation, given)
    for simulation in (tried, plain):
        simulation.run_until(simulation.end_ms)
    assert list(tried.json_lines()) == list(plain.json_lines())


@promise(commands=20)
def _the_fast_path_leaves_the_same_log_as_the_ordinary_one(case: Case) -> None:
    fast, ordinary = case.simulation(), case.simulation()
    play_one_by_one(ordinary.world)
    for simulation in (fast, ordinary):
        for given in case.commands:
            simulation.run_until(simulation.now_ms + given.after_ms)
            submit(simulation, given)
        simulation.run_until(simulation.end_ms)
    assert list(fast.json_lines()) == list(ordinary.json_lines())


@promise(commands=20)
def _plain_tasks_leave_and_upload_the_same_as_any_others(case: Case) -> None:
    with mock.patch.object(output_files, "outputs_of", return_value=None):
        ordinary, _ = _played(case)
    plain, _ = _played(case)
    assert list(plain.json_lines()) == list(ordinary.json_lines())
    assert list(tree(plain)) == list(tree(ordinary))
    assert stored_blobs(plain) == stored_blobs(ordinary)
    assert run_totals(plain) == run_totals(ordinary)


@promise(commands=30)
def _a_refused_command_leaves_only_its_refusal(case: Case) -> None:
    simulation = case.simulation()
    for given in case.commands:
        simulation.run_until(simulation.now_ms + given.after_ms)
        simulation.run_until(simulation.now_ms + 1)
        length, refused = len(simulation.log), len(simulation.refusals)
        submit(simulation, given)
        is_whole = len(given.body.get("tasks", ())) < 2  # several tasks are accepted or refused one by one
        if len(simulation.refusals) > refused and is_whole:
            now_ms = simulation.now_ms
            lines = [entry for entry in simulation.log.entries(length) if entry.t_ms == now_ms]
            caused = [entry.shape.event for entry in lines if entry.shape.event.startswith(("Command", "Fault"))]
            assert caused == ["CommandRefused"], simulation.refusals[-1]


def _all_answers(simulation):
    world = simulation.world
    for task in range(world.tasks.length):
        yield from explain(simulation, "task", task)
    for node in range(world.nodes.length):
        yield why_node(world, node)
        for job in world.jobs:
            yield why_preparation(world, job, node)
    for job in world.jobs:
        yield why_job(world, job)
        if (counts := why_counts(world, job, None)) is not None:
            yield counts
    for schedule in world.job_schedules:
        yield why_schedule(world, schedule, simulation.now_ms)
    for pool in world.pools:
        yield why_pool(world, pool)
        if (targets := why_targets(world, pool)) is not None:
            yield targets


@promise(commands=25, moments=8)
def _every_question_has_an_answer_at_every_moment(case: Case) -> None:
    simulation, recorded = _played(case)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        for answer in _all_answers(simulation):
            assert answer.lines()[0].endswith("?")
            assert answer.next_change is None or answer.next_change.when_ms >= simulation.world.now_ms
    simulation.seek(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded


@promise(commands=25, moments=8)
def _a_task_waits_because_a_condition_is_not_met(case: Case) -> None:
    simulation, _ = _played(case)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        tasks = simulation.world.tasks
        for task in range(tasks.length):
            if tasks.state[task] == ACTIVE:
                checks = why_task(simulation.world, task, simulation.now_ms).checks
                assert not all(check.ok for check in checks)


@promise(commands=5, moments=2)
def _the_expected_moment_comes_about(case: Case) -> None:
    simulation, _ = _played(case)
    simulation.seek(_moments(simulation, case)[0])
    simulation.branch()
    tasks = simulation.world.tasks
    waiting = [task for task in range(tasks.length) if tasks.state[task] == ACTIVE]
    if not waiting:
        return
    task = waiting[case.moments[1] % len(waiting)]
    coming = expected(simulation, "task", task)
    assert coming is not None
    if not coming.rule:
        return
    simulation.run_until(coming.when_ms - 1)
    assert tasks.state[task] in (ACTIVE, PREPARING)
    simulation.run_until(coming.when_ms)
    assert tasks.state[task] != PREPARING


@promise(commands=20, moments=4)
def _whatever_is_permanent_needs_attention(case: Case) -> None:
    simulation, _ = _played(case)
    attention = Attention(simulation)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        check_permanent(simulation, attention)
    simulation.seek(simulation.end_ms)
    check_permanent(simulation, attention)


@promise(commands=5, moments=1)
def _a_remedy_that_is_offered_is_accepted_and_helps(case: Case) -> None:
    simulation, _ = _played(case)
    simulation.seek(*_moments(simulation, case))
    simulation.branch()
    check_remedies(simulation)


@promise(commands=15, moments=3)
def _series_agree_with_a_count_of_the_log(case: Case) -> None:
    simulation, _ = _played(case)
    series = RunSeries(simulation)
    check_series(simulation, series)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        check_series(simulation, series)
    simulation.branch()
    simulation.run_until(simulation.end_ms)
    check_series(simulation, series)


@promise(commands=10, moments=1, trials=1)
def _cost_and_end_are_the_same_wherever_they_stand(case: Case) -> None:
    changed, _ = _played(case)
    untouched = Simulation(changed.scenario)
    for simulation in (changed, untouched):
        simulation.run_until(simulation.end_ms)
        simulation.finish()
    figures = check_end(untouched)
    check_study(untouched, figures)
    check_changed(figures, check_end(changed))
    changed.seek(_moments(changed, case)[0] % (changed.now_ms + 1))
    changed.branch()
    check_ahead(changed, [given.command for given in case.trials[0].commands])


@promise(commands=15, moments=8)
def _figures_are_the_same_wherever_they_stand_at_every_moment(case: Case) -> None:
    simulation, _ = _played(case)
    session = Session(simulation)
    while session.ahead.advance(10_000):
        pass
    check_moment(simulation, session)
    for moment in _moments(simulation, case):
        simulation.seek(moment)
        check_moment(simulation, session)
