"""Checks of what needs attention against the answers to "why?", at one moment of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from engine import Simulation
from engine.specs.commands import COMMANDS
from engine.state.tasks import ACTIVE
from engine.views.diagnosis.concerns import Attention, kind_of
from engine.views.diagnosis.model import Explanation, Items
from engine.views.diagnosis.questions import explain
from engine.views.diagnosis.subjects import answers_to_concerns

_OF_A_KIND = 2  # tasks that are asked about


def check_permanent(simulation: Simulation, attention: Attention) -> None:
    """Fail where an answer says that only a user can help, and the list of what needs attention is silent."""
    found = attention.concerns()
    assert all(one.is_coming or one.since_ms <= simulation.now_ms for one in found)
    for items, answer in _states(simulation):
        if answer.nothing and not answer.planned:
            assert any(_share(one.items, items) for one in found), answer.lines()


def _states(simulation: Simulation) -> Iterator[tuple[Items, Explanation]]:
    """Yield the answer about the state of each job, pool and node, and of a few waiting tasks."""
    world = simulation.world
    tasks = world.tasks
    for job in world.jobs.present():
        waiting = (task for task in tasks.rows_of(job.row) if tasks.state[task] == ACTIVE)
        for task in islice(waiting, _OF_A_KIND):
            items = Items(tasks=(task,), jobs=(job.id,), pools=(job.pool_id,))
            yield from ((items, each) for each in explain(simulation, "task", task)[:1])
        yield from ((Items(jobs=(job.id,)), each) for each in explain(simulation, "job", job.id)[:1])
    for pool in world.pools.present():
        yield from ((Items(pools=(pool.id,)), each) for each in explain(simulation, "pool", pool.id)[:1])
        for node in (node for node in pool.nodes if world.nodes.state_of(node) is not None):
            yield from ((Items(nodes=(node,)), each) for each in explain(simulation, "node", node)[:1])


def _share(concern: Items, mine: Items) -> bool:
    """Return whether a concern is about a thing, or about the pool of one without naming jobs."""
    is_of_pool = not concern.jobs and set(concern.pools) & set(mine.pools)
    pairs = ((concern.tasks, mine.tasks), (concern.jobs, mine.jobs), (concern.nodes, mine.nodes))
    return bool(is_of_pool) or any(set(theirs) & set(ours) for theirs, ours in pairs)


def check_remedies(simulation: Simulation) -> None:
    """Fail where a remedy that is offered is refused, or leaves its concern where it was."""
    for answer in answers_to_concerns(simulation):
        assert answer.finding is not None
        for remedy in answer.remedies or ():
            ((name, body),) = remedy.command.items()
            assert remedy.helps
            with simulation.trial():
                assert not any(simulation.submit_all([COMMANDS[name].from_wire(body)])), remedy
                simulation.run_until(simulation.end_ms)
                kind = kind_of(answer.finding)
                left = [one for one in Attention(simulation).concerns() if kind_of(one) is kind]
                assert all(one.items != answer.finding.items for one in left), remedy
