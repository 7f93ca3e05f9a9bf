"""The figures of a run in all places that tell them, which must be the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import Simulation
from engine.studies.measures import Figures, compared, figures_of_run
from engine.studies.outcome import Tally
from engine.studies.runs import Player, Run, planned, read
from engine.studies.sides import read_state
from engine.views.diagnosis.questions import expected
from engine.views.hook_status import HookStatus
from engine.views.log.tally import Measure, all_job_ids, hook_times, node_use, recorded_columns, tally
from engine.views.resources.jobs import job_ids, pool_ids
from engine.views.results import GONE, json_text, run_totals, summary
from engine.views.trace import counters
from tests.tui.pages import content_of, page_of
from tui.viewmodels.actions.trial import Trials, trial_lines
from tui.viewmodels.format import money
from tui.viewmodels.moments import Bookmarks
from tui.viewmodels.properties import cost_words, node_words
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.command import Command
    from engine.views.results import JobResult

DIGITS = 6


def check_ahead(simulation: Simulation, commands: Sequence[Command]) -> None:
    """Play a run to its end, without commands and with them: what was foretold and previewed must come about."""
    session = Session(simulation)
    while session.ahead.advance(10_000):
        pass
    session.update()
    foretold = session.end_ms, session.cost() if session.is_over else session.cost_by_the_end()
    trials = [trial for trial in Trials(session).steps(commands) if trial is not None and trial.is_end]
    here, now_ms = Bookmarks(session).here(), session.now_ms
    for job in list(simulation.world.jobs.present()):
        coming = expected(simulation, "job", job.id)
        if coming is not None and "end of the run" in coming.text:
            assert coming.when_ms == session.end_ms
    assert foretold == (here.end_ms, here.nodes.cost(here.end_ms)) == _played(session)
    for trial in trials:  # none where a slow machine does not get to the end
        ends = trial.without.until_ms, trial.given.until_ms
        assert (ends[0], trial.without.cost) == foretold
        lines = [" ".join(plain(line).split()) for line in trial_lines(session, trial, 100)]
        said = f"end of the run {session.clock(ends[1])} otherwise {session.clock(ends[0])}"
        assert (said in lines) == (session.clock(ends[0]) != session.clock(ends[1]))
        simulation.seek(now_ms)
        simulation.branch()
        simulation.submit_all(commands)
        assert (ends[1], trial.given.cost) == _played(session)
        jobs = simulation.world.jobs.rows
        came = {job.id: job.end_ms for job in jobs if job.end_ms is not None and job.end_ms >= now_ms}
        assert {job_id: came[job_id] for job_id in trial.given.tally.completed_ms} == trial.given.tally.completed_ms


def _played(session: Session) -> tuple[int | None, float]:
    """Play a run to its end; return that and the cost."""
    simulation = session.simulation
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    session.update()
    assert session.is_over
    assert session.end_ms == simulation.now_ms
    return session.end_ms, session.cost()


def check_end(simulation: Simulation) -> Figures:
    """Compare all places that tell the cost and the end of a finished run. Return its figures."""
    totals, figures = run_totals(simulation), figures_of_run(simulation)
    cost, end_s = totals["costUsd"], simulation.now_ms / 1000
    told = summary(simulation)
    assert (round(told.cost, DIGITS), told.end_ms / 1000, totals["endSeconds"]) == (cost, end_s, end_s)
    assert (figures.measures["costUsd"], figures.measures["endSeconds"]) == (cost, end_s)
    assert round(sum(pool.cost for pool in told.pools), DIGITS) == cost
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        path.write_text("".join(json_text(simulation)))
        state = read_state(path)
    assert state is not None
    assert state.figures is not None
    assert not any(row.difference for row in compared(figures, state.figures) if row.what in ("costUsd", "endSeconds"))
    samples = [one.values["USD"] for one in counters(simulation) if one.name == "cost"]
    assert samples[-1] == cost
    session = Session(simulation)
    assert round(session.cost(), DIGITS) == cost
    said = money(told.cost)
    assert said in cost_words(session) or not cost
    page = content_of(page_of(simulation))
    assert (sum(page["moments"]), page["costs"][-1]) == (simulation.now_ms, said)
    _check_page(session, page)
    return figures


def _check_page(session: Session, page: dict[str, Any]) -> None:
    """Compare the last figures of the page of a run with those of Watch."""
    for pool_id, *columns in page["pools"]:
        pool = session.pool(pool_id)
        assert pool is not None
        _, live, target, used = map(sum, columns)
        assert f"{node_words(pool)},".startswith(f"{live:,}/{target:,} nodes,")
        assert used == pool.used_slots
    for job_id, _, _, *columns in page["jobs"]:
        progress, shown = session.progress(job_id), [sum(each) for each in columns]
        if progress is not None:
            assert shown[1:6] == list(progress.tasks[:5])
            for nodes, (ran, running, failed, stopped, total) in (
                (progress.preparation, shown[6:11]),
                (progress.release, shown[11:16]),
            ):
                assert nodes in (None, (ran - failed, running, failed, total - stopped, stopped))


def check_moment(simulation: Simulation, session: Session) -> None:
    """Compare all places that count tasks, preparations, releases and nodes, or tell cost and waits, at a moment."""
    session.update()
    now_ms, columns = simulation.now_ms, recorded_columns(simulation)
    told, use, stop = summary(simulation), node_use(simulation), simulation.log.index_at(now_ms)
    pools = [pool for pool in map(session.pool, pool_ids(simulation)) if pool is not None]
    counts = tally(simulation, columns, 0, stop, all_job_ids(simulation)).counts
    figures, of_hooks = figures_of_run(simulation).measures, hook_times(simulation.log, columns, stop)
    assert (figures["preparationSeconds"], figures["releaseSeconds"]) == tuple(ms / 1000 for ms in of_hooks)
    assert round(use.cost(now_ms) - told.cost, DIGITS) == round(session.cost() - told.cost, DIGITS) == 0
    assert round(use.hours(now_ms), DIGITS) == figures["nodeHours"]
    assert counts[Measure.SUCCEEDED] == told.tasks.succeeded == figures["succeededTasks"]
    assert counts[Measure.FAILED] + counts[Measure.TERMINATED] == told.tasks.failed == figures["failedTasks"]
    assert counts[Measure.PREPARATIONS_FAILED] == figures["failedPreparations"]
    assert counts[Measure.RELEASES_FAILED] == figures["failedReleases"]
    assert counts[Measure.PREPARATIONS_FAILED] == sum(job.preparations.failed for job in told.jobs)
    assert counts[Measure.RELEASES_FAILED] == sum(job.releases.failed for job in told.jobs)
    nodes = {pool.pool_id: pool.nodes for pool in told.pools if pool.state != GONE}
    assert nodes == {pool.pool_id: pool.nodes for pool in pools}
    assert counts[Measure.NODES_ADDED] - counts[Measure.NODES_REMOVED] == sum(nodes.values())
    assert all(sum(number for _, number in pool.node_counts) == nodes[pool.pool_id] for pool in pools)
    results = {job.job_id: job for job in told.jobs if job.state != GONE}
    for job_id in job_ids(simulation):
        _check_job(session, results[job_id])


def _check_job(session: Session, told: JobResult) -> None:
    """Compare what the detail page, the strip and the report say of a job."""
    job, progress = session.job(told.job_id), session.progress(told.job_id)
    assert job is not None
    assert progress is not None
    tasks = job.phases.tasks
    assert tasks._replace(oldest_wait_ms=None) == progress.tasks._replace(oldest_wait_ms=None)
    assert tasks.open == told.tasks.active
    assert tasks.failed <= told.tasks.failed  # the report counts deleted tasks, too
    assert (job.state, job.record.end_ms) == (progress.state, progress.end_ms)
    for shown, counts, total in (
        (progress.preparation, job.phases.preparation, told.preparations),
        (progress.release, job.phases.release, told.releases),
    ):
        assert (shown is None) == (not counts.is_specified)
        if shown is not None:
            assert shown.done + shown.failed <= total.count
            failed = total.failed - (total.stopped if shown is progress.preparation else 0)
            assert shown.failed == failed or (progress.is_live and shown.failed < failed)
            assert counts[HookStatus.FAILED] == shown.failed or (progress.is_live and counts[HookStatus.GONE])
            assert progress.is_live or shown.total == shown.done + shown.failed, "nothing is to come"
    if progress.release is not None:
        listed = session.pages(told.job_id)[1]
        assert progress.release.total == listed.count() == len(listed.order()), "the strip and the list of its tab"
    failures = progress.release.failed if progress.release is not None else 0
    problems = session.attention.problems(told.job_id)
    assert problems >= tasks.failed + failures
    assert session.attention.has_failed(told.job_id) or not tasks.failed + failures
    end = session.job_end(told.job_id)
    if end is not None and end.is_simulated and not end.is_of_tasks:
        future = session.ahead.future
        assert future is not None
        assert end.when_ms == future.world.jobs[job.record.row].end_ms


def check_changed(one: Figures, other: Figures) -> None:
    """Compare two runs: each has the figures of its own."""
    for row in compared(one, other):
        if row.what in one.measures:
            assert (row.a, row.b) == (one.measures[row.what], other.measures[row.what])


def check_study(simulation: Simulation, figures: Figures) -> None:
    """Compare a study of one point with the run."""
    study = planned(simulation.scenario, seeds=str(1))
    (line,) = Player(study).play([Run(1, simulation.seed)])
    result = read(line)
    assert result["summary"] is not None, result["error"]
    tally = Tally(study, simulation.scenario.name, confidence=0.5)
    tally.add([result])
    tally.update()
    (variant,) = tally.summary.variants
    assert variant.median_cost == figures.measures["costUsd"]
    assert variant.end_s == figures.measures["makespanSeconds"]
    assert json.loads(line)["summary"]["endSeconds"] == figures.measures["endSeconds"]
