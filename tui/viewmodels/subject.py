"""What is under the cursor: a node, task, job, job schedule or pool, whatever view shows it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["node", "task", "job", "job schedule", "pool"]


class Subject(NamedTuple):
    """What is acted on or asked about: nodes and tasks by row number, the others by id."""

    kind: Kind
    key: int | str
