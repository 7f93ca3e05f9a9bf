"""Money: one amount has one form everywhere, deleted pools count, and the cost by the end is known."""

import pytest

from engine import Simulation, load_scenario
from engine.base.lifecycles import UNBILLED
from engine.base.terms import NodeState
from engine.base.values import HOUR_MS, MINUTE_MS
from engine.run.conditions import cost_of_nodes
from engine.specs.commands import DisableJob, DisableNodeScheduling, ReimageNode, ResizePool
from tests.builders import READY_S, a_job, a_pool, run_to, simulation
from tests.tui.acting import trial_of
from tui.viewmodels import format as fmt
from tui.viewmodels.actions.trial import trial_lines
from tui.viewmodels.lists.instances import PreparationModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.pool_pages import PoolDetailModel
from tui.viewmodels.properties import cost_words
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain
from tui.viewmodels.watch.charts import charts_of
from tui.viewmodels.watch.curves import CurvesModel
from tui.viewmodels.watch.job_strip import JobStripModel, rail_subtitle

LEAVING = NodeState.LEAVING_POOL
AUTO_POOLS, NIGHT = "one-pool-per-scheduled-job", "spot-night-run"


def run_of(name, ms=None):
    """A run, taken to a moment, or to its end."""
    simulation = Simulation(load_scenario(name))
    if ms is not None:
        simulation.run_until(ms)
        return simulation
    while simulation.advance(simulation.end_ms):
        pass
    simulation.finish()
    return simulation


def session_of(name, ms=None):
    simulation = run_of(name, ms)
    session = Session(simulation)
    session.update()
    return session


def played_ahead(session):
    while session.ahead.advance(4096):
        pass
    session.update()
    return session


@pytest.fixture(scope="module")
def at_the_end():
    return session_of(AUTO_POOLS)


def column(model, name):
    model.update()
    at = model.column_names.index(name)
    keys = model.keys(0, model.count)
    return {model.identity_of(key): text.strip() for key, text in zip(keys, model.texts_of(keys, at), strict=True)}


def test_an_amount_has_one_form():
    assert [fmt.money(usd) for usd in (0, 0.0644, 0.02, 0.3, 1234.5, -0.0644)] == [
        "$0.00", "$0.064", "$0.020", "$0.30", "$1,234.50", "-$0.064",
    ]  # fmt: skip
    assert [fmt.compared_money(1, 1 + usd, "USD")[2] for usd in (0.3, -0.136, 0)] == ["+$0.30", "-$0.14", ""]
    assert [fmt.money(amount, "EUR") for amount in (0.0644, -1234.5)] == ["EUR 0.064", "-EUR 1,234.50"]


def test_the_cost_of_the_run_has_that_of_deleted_pools(at_the_end):
    usd = cost_of_nodes(at_the_end.simulation.world.pools.rows, at_the_end.now_ms)
    assert usd == pytest.approx(0.2066, abs=1e-4)
    assert at_the_end.cost() == pytest.approx(usd)
    assert cost_words(at_the_end) == "all pools $0.21"
    assert "all pools $0.21" in JobStripModel(at_the_end).subtitle(100)


def test_deleted_pools_stand_at_the_end_of_the_list_with_their_cost_and_jobs(at_the_end):
    states, costs = column(PoolsModel(at_the_end), "State"), column(PoolsModel(at_the_end), "Cost")
    assert list(states.values()) == ["active", *["deleted"] * 5]
    assert sum(float(usd.lstrip("$")) for usd in costs.values()) == pytest.approx(0.2066, abs=0.01)
    jobs = column(PoolsModel(at_the_end), "Jobs")
    assert "hourly:job-4" in jobs.values()
    assert plain(PoolsModel(at_the_end).summary()) == "All pools $0.21"


def test_the_pool_of_a_job_stays_that_on_which_it_ran_once_it_is_deleted(at_the_end):
    at_the_end.focus_job("hourly:job-4")
    assert at_the_end.pool_id == at_the_end.job("hourly:job-4").record.pool_id
    assert at_the_end.pool_id.startswith("fresh_")
    title = CurvesModel(at_the_end).title
    assert title.startswith("Curves: hourly:job-4 on fr")
    nodes, *_, cost = charts_of(at_the_end, at_the_end.pool_id, "hourly:job-4", 40)
    assert nodes.top > 0
    assert [reading.name for reading in cost.readings] == ["this pool", "other pools"]
    assert cost.readings[0].text == "$0.018"
    assert len(at_the_end.nodes().nodes()) == 1


def test_a_job_whose_pool_could_not_be_made_has_no_pool(at_the_end):
    at_the_end.focus_job("hourly:job-3")
    assert at_the_end.pool_id == ""
    model = NodesModel(at_the_end)
    model.update()
    assert model.nothing_shown() == ("Job hourly:job-3 has no pool.", "P chooses a pool.")
    found = list(charts_of(at_the_end, "", "hourly:job-3", 40))
    assert found[0].title == "Nodes of all pools"
    assert found[-1].readings[0].text == "$0.21"
    strip = JobStripModel(at_the_end)
    strip.update()
    row = next(plain(each) for each in strip.lines(120, 12, 0) if "hourly:job-3" in plain(each))
    assert "none yet" not in row


def test_the_page_of_a_deleted_pool_shows_the_job_that_ran_there(at_the_end):
    pool_id = at_the_end.job("hourly:job-1").record.pool_id
    at_the_end.focus_pool(pool_id)
    assert at_the_end.job_id == "hourly:job-1"
    model = PoolDetailModel(at_the_end, ItemRef("pool", pool_id))
    assert model.exists
    text = "\n".join(plain(each) for each in model.lines(1, 100))
    assert "deleted" in text
    assert [plain(each) for each in model.lines(3, 100)] == ["The pool has been deleted."]
    at_the_end.focus = "", ""


def test_the_list_of_jobs_and_the_strip_count_the_same_nodes(at_the_end):
    jobs = JobsModel(at_the_end)
    preparation, release = column(jobs, "Preparation"), column(jobs, "Release")
    for job_id in ("hourly:job-1", "hourly:job-2", "hourly:job-4"):
        progress = at_the_end.progress(job_id)
        assert (progress.preparation.done, progress.preparation.total) == (1, 1)
        assert (preparation[job_id], release[job_id]) == ("1/1", "1/1")


def test_preparation_on_a_node_that_left_after_the_job_has_its_result(at_the_end):
    at_the_end.focus_job("hourly:job-4")
    model = PreparationModel(at_the_end)
    model.update()
    assert next(span.text for span in model.cells(model.key(0))) == at_the_end.glyphs.good


def test_the_cost_by_the_end_is_that_of_the_run_at_its_end():
    session = played_ahead(session_of(NIGHT, HOUR_MS + 20 * MINUTE_MS))
    later = session.cost_by_the_end()
    whole = run_of(NIGHT)
    assert later == cost_of_nodes(whole.world.pools.rows, whole.now_ms)
    assert cost_words(session) == f"{fmt.money(session.cost())} so far, {fmt.money(later)} by the end"
    *_, cost = charts_of(session, session.pool_id, session.job_id, 40)
    assert (fmt.money(later), "by the end") in [reading[:2] for reading in cost.readings]


def test_the_cost_by_the_end_is_not_told_before_it_is_known_nor_at_the_end(at_the_end):
    assert session_of(NIGHT, HOUR_MS).cost_by_the_end() is None
    assert at_the_end.cost_by_the_end() is None


def test_every_preview_has_the_cost_until_the_end_and_that_of_an_hour():
    """Spot nodes are preempted, so that half of them costs no less than what is there; but the run takes longer."""
    session = session_of(NIGHT, HOUR_MS + 20 * MINUTE_MS)
    halved = ResizePool.model_validate(
        {"poolId": session.pool_id, "targetDedicatedNodes": 1, "targetLowPriorityNodes": 4}
    )
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial_of(session, [halved]), 100)]
    assert "cost an hour $0.24 no difference" in lines
    assert "cost in all $0.65 (+$0.017) otherwise $0.63" in lines
    assert "end of the run 21:27:47 otherwise 21:18:44" in lines
    paused = DisableNodeScheduling.model_validate({"poolId": session.pool_id, "node": 0})
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial_of(session, [paused]), 100)]
    assert sum(each.startswith(("cost an hour", "cost in all", "cost by then")) for each in lines) == 2


def test_a_preview_charges_each_run_up_to_its_own_end_and_shows_both():
    session = played_ahead(session_of("preparation-fails-on-one-node", 3 * MINUTE_MS))
    disabled = DisableJob.model_validate({"jobId": "align", "disableTasks": "requeue"})
    trial = trial_of(session, [disabled])
    assert (trial.without.until_ms, trial.without.cost) == (session.end_ms, session.cost_by_the_end())
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial, 100)]
    ends = session.clock(trial.given.until_ms), session.clock(session.end_ms)
    assert "end of the run {} otherwise {}".format(*ends) in lines
    (cost,) = (each for each in lines if each.startswith("cost in all"))
    assert cost.endswith(f"otherwise {fmt.money(session.cost_by_the_end())}")


def test_the_cost_of_the_run_stands_on_the_strip_before_what_has_less_room(at_the_end):
    at_the_end.focus_job("hourly:job-4")
    strip = JobStripModel(at_the_end)
    strip.update()
    assert strip.subtitle(70).endswith("deleted · all pools $0.21")


def test_slots_beside_the_cost_of_all_pools_are_said_to_be_of_one():
    sim = simulation(a_job("j", 2, pool="one"), pools=[a_pool("one"), a_pool("two")])
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    words = rail_subtitle(session, 200, has_pool=False)
    assert "all pools $" in words
    assert "this pool's slots 1/1 in use" in words
    lone = simulation(a_job("j", 2))
    run_to(lone, seconds=READY_S + 30)
    assert "this pool" not in rail_subtitle(Session(lone), 200, has_pool=False)


def test_the_cost_by_the_end_is_drawn_as_soon_as_it_is_known():
    session = session_of(NIGHT, HOUR_MS)
    model = CurvesModel(session)
    before = "\n".join(plain(each) for each in model.lines(70, 40))
    played_ahead(session)
    after = "\n".join(plain(each) for each in model.lines(70, 40))
    assert "$0.63" not in before
    assert "$0.63" in after


def test_the_legend_of_costs_keeps_its_names_where_not_all_readings_have_room():
    session = session_of("a-blocked-subnet", 600_000)
    played_ahead(session)
    lines = [plain(each) for each in CurvesModel(session).lines(58, 40)]
    (told,) = (each for each in lines if each.startswith("Cost"))
    assert "this pool" in told
    assert "other pools" in told
    assert "by the end" not in told


def test_amounts_that_differ_by_less_than_a_cent_show_it():
    assert fmt.compared_money(0.8843, 0.8762, "USD")[:2] == ("$0.8843", "$0.8762")
    assert fmt.compared_money(12.5, 3.25, "USD") == ("$12.50", "$3.25", "-$9.25")


def test_a_preview_names_the_expectations_that_would_break():
    session = session_of("preparation-fails-on-one-node", 3 * MINUTE_MS)
    reimaged = ReimageNode.model_validate({"poolId": session.pool_id, "node": 1})
    trial = trial_of(session, [reimaged])
    assert any("breaks expectation" in plain(each) for each in trial_lines(session, trial, 200))
    session = session_of("preparation-fails-on-one-node", 3 * MINUTE_MS)
    untouched = trial_of(session, [])
    assert not any("breaks" in plain(each) for each in trial_lines(session, untouched, 200))


def test_a_preview_may_bring_nodes_that_leave_again():
    later = {"at": "PT1H", "resizePool": {"poolId": "p", "targetDedicatedNodes": 0}}
    sim = simulation(pool=a_pool(nodes=1), timeline=[later])
    sim.run_until(10 * MINUTE_MS)
    session = Session(sim)
    session.update()
    more = ResizePool.model_validate({"poolId": "p", "targetDedicatedNodes": 3})
    trial = trial_of(session, [more])
    assert trial.is_end
    assert trial.leaving == ()
    assert trial.given.cost == pytest.approx(3 * trial.without.cost, rel=0.2)


def test_the_cost_of_an_hour_is_that_of_the_nodes_that_stay_in_chart_and_preview():
    session = session_of(NIGHT, HOUR_MS + 20 * MINUTE_MS)
    world = session.simulation.world
    for when_ms in range(0, 2 * HOUR_MS, 7 * MINUTE_MS):
        session.simulation.seek(when_ms)
        session.update()
        wanted = 0.0
        for pool in world.pools.present():
            staying = [node for node in pool.nodes if world.nodes.state_of(node) not in (None, *UNBILLED, LEAVING)]
            kinds = [world.nodes[node].dedicated for node in staying if node not in pool.victims]
            wanted += sum(pool.size.price_usd(pool.os, dedicated=kind) for kind in [*kinds, *pool.pending.values()])
        assert session.cost_an_hour() == pytest.approx(wanted)
