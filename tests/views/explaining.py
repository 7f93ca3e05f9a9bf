"""The explanations of a run as lines of text."""

from engine.views.diagnosis.jobs import why_job, why_schedule
from engine.views.diagnosis.nodes import why_node, why_preparation
from engine.views.diagnosis.pools import why_pool
from engine.views.diagnosis.tasks import why_task
from tests.builders import node_row, task_row


def why_task_says(sim, task="t1", job="j"):
    return why_task(sim.world, task_row(sim, task, job), sim.now_ms).lines()


def why_node_says(sim, index=0):
    return why_node(sim.world, node_row(sim, index)).lines()


def why_preparation_says(sim, index=0, job="j"):
    return why_preparation(sim.world, sim.world.jobs.find(job), node_row(sim, index)).lines()


def why_job_says(sim, job="j"):
    return why_job(sim.world, sim.world.jobs.find(job)).lines()


def why_schedule_says(sim, schedule="s"):
    rows = [one for one in sim.world.job_schedules if one.id == schedule]
    return why_schedule(sim.world, rows[-1], sim.now_ms).lines()


def why_pool_says(sim, row=0):
    return why_pool(sim.world, sim.world.pools[row]).lines()
