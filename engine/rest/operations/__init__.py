"""The operations: a handler for each operation of the routing table, in a module for each kind of resource.

A module lists its handlers by operation id in ``HANDLERS``. To add an operation, add it to the one of its resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rest.operations import account, certificates, files, job_schedules, jobs, nodes, pools, tasks

if TYPE_CHECKING:
    from engine.rest.protocol.calls import Handler

MODULES = (account, certificates, files, job_schedules, jobs, nodes, pools, tasks)

HANDLERS: dict[str, Handler] = {}
"""The handlers of all operations by their ids."""

for _module in MODULES:
    HANDLERS |= _module.HANDLERS
