"""Checks for what the service refuses in a body regardless of its state.

Each check is a pure function from a body to its refusals, in the order of the body. An empty list means that the body
is acceptable. Checks that need other objects (ids in use, allocation state, quotas) are in the rules.
"""

from engine.specs.refusals.account import account_refusals, certificate_refusals
from engine.specs.refusals.job import (
    add_tasks_refusals,
    job_refusals,
    job_update_refusals,
    schedule_refusals,
    schedule_update_refusals,
    task_constraints_refusals,
    task_refusals,
)
from engine.specs.refusals.parts import Refusal
from engine.specs.refusals.pool import (
    auto_scale_refusals,
    node_user_refusals,
    pool_refusals,
    pool_update_refusals,
    remove_nodes_refusals,
    resize_refusals,
)

__all__ = [
    "Refusal",
    "account_refusals",
    "add_tasks_refusals",
    "auto_scale_refusals",
    "certificate_refusals",
    "job_refusals",
    "job_update_refusals",
    "node_user_refusals",
    "pool_refusals",
    "pool_update_refusals",
    "remove_nodes_refusals",
    "resize_refusals",
    "schedule_refusals",
    "schedule_update_refusals",
    "task_constraints_refusals",
    "task_refusals",
]
