"""The tasks of a job as lines of JSON.

Most tasks of a sweep succeed in their first attempt, and their bodies differ in names, times and node alone. The body
of the first of them is written with holes in it, and the others are filled in. Any other task is written by itself.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any

from engine.base.units import format_utc
from engine.state.tasks import COMPLETED, GONE
from engine.views.rest.tasks import BlockParts, TaskBodies, subtask_bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.state.jobs import Job
    from engine.views.log.transitions import TaskTransitions
    from engine.world.world import World

Body = dict[str, Any]

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode

TOGETHER = 1000  # tasks of which the names are made together
MOST_NODES = 4096  # texts that are kept
# A hole is text that no body has; where one has it nevertheless, its line is not used for others.
_ID, _LINE, _STARTED, _ENDED, _NODE = (f"\0{name}\0" for name in ("id", "line", "started", "ended", "node"))
_ID_IN_TEXT = _quoted(_ID)[1:-1]


def whole_bodies(world: World, job: Job, transitions: TaskTransitions) -> Iterator[Body]:
    """Yield the tasks of a job, multi-instance ones with ``subtasks`` as ``subtasksinfo`` lists them (MI-7).

    They come in the order in which they were added, without deleted ones, and share parts: copy a body before changing
    it.
    """
    writer = _Writer(world, job, transitions)
    for number in job.blocks:
        block = BlockParts(world, world.tasks.blocks[number])
        yield from (writer.whole(block, task) for task in block.rows if world.tasks.state[task] != GONE)


def task_lines(world: World, job: Job, transitions: TaskTransitions) -> Iterator[str]:
    """Yield the same tasks as JSON."""
    writer = _Writer(world, job, transitions)
    for number in job.blocks:
        yield from writer.lines(BlockParts(world, world.tasks.blocks[number]))


class _Writer:
    """Writes the tasks of one job."""

    def __init__(self, world: World, job: Job, transitions: TaskTransitions) -> None:
        self._world = world
        self._transitions = transitions
        self._bodies = TaskBodies(world, job)
        self._nodes: dict[int, str] = {}

    def whole(self, block: BlockParts, task: int) -> Body:
        """Return the body of a task, with its subtasks if it may have some."""
        body = self._bodies.body(task, block, self._transitions[task])
        return body | {"subtasks": subtask_bodies(self._world, task)} if "multiInstanceSettings" in body else body

    def lines(self, block: BlockParts) -> Iterator[str]:
        """Yield the lines of a block's tasks."""
        tasks, sweep, begin = self._world.tasks, block.sweep, block.rows.start
        forms: dict[int, str | None] = {}  # by profile
        for first in range(begin, block.rows.stop, TOGETHER):
            rows = [row for row in block.rows[first - begin : first - begin + TOGETHER] if tasks.state[row] != GONE]
            if sweep is None:
                yield from (encode(self.whole(block, task)) for task in rows)
                continue
            ordinals = [row - begin for row in rows]
            names = zip(sweep.task_ids(ordinals), sweep.command_lines(ordinals), strict=True)
            for task, (task_id, line) in zip(rows, names, strict=True):
                profile = tasks.profile[task]
                is_ordinary = tasks.state[task] == COMPLETED and tasks.sparse_of(task) is None
                if is_ordinary and profile not in forms:
                    forms[profile] = self._form(block, task)
                form = forms[profile] if is_ordinary else None
                yield encode(self.whole(block, task)) if form is None else form % self._filling(task, task_id, line)

    def _form(self, block: BlockParts, task: int) -> str | None:
        """Return the line of an ordinary task with holes; None if others cannot be filled into it."""
        body = self.whole(block, task)
        info: Body = body["executionInfo"]
        if "multiInstanceSettings" in body or "containerInfo" in info:  # these differ from task to task
            return None
        text = encode(
            body
            | {"id": _ID, "url": body["url"].removesuffix(body["id"]) + _ID, "commandLine": _LINE}
            | {"stateTransitionTime": _ENDED, "previousStateTransitionTime": _STARTED}
            | {"executionInfo": info | {"startTime": _STARTED, "endTime": _ENDED}, "nodeInfo": _NODE}
        ).replace("%", "%%")
        text = text.replace(_quoted(_NODE), "%(node)s")
        for name, hole in (("id", _ID), ("line", _LINE), ("started", _STARTED), ("ended", _ENDED)):
            text = text.replace(_quoted(hole)[1:-1], f"%({name})s")
        return text if text % self._filling(task, body["id"], body["commandLine"]) == encode(body) else None

    def _filling(self, task: int, task_id: str, line: str) -> dict[str, str]:
        """Return what is written into the holes for a task."""
        tasks, start = self._world.tasks, self._world.scenario.start
        name = _quoted(task_id)[1:-1]
        return {
            "id": name,
            "line": _quoted(line)[1:-1],
            "started": format_utc(start, tasks.started[task]),
            "ended": format_utc(start, tasks.ended[task]),
            "node": self._node(tasks.node[task]).replace(_ID_IN_TEXT, name),
        }

    def _node(self, node: int) -> str:
        """Return ``nodeInfo`` with a hole for the id of the task."""
        text = self._nodes.get(node)
        if text is None:
            if len(self._nodes) >= MOST_NODES:
                self._nodes.clear()
            text = self._nodes[node] = encode(self._bodies.node_info(_ID, node))
        return text
