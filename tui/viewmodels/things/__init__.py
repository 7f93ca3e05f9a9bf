"""Blades of one thing: a node, a pool, a job or a task, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.things.job import JobThing
from tui.viewmodels.things.node import NodeThing
from tui.viewmodels.things.pool import PoolThing
from tui.viewmodels.things.task import TaskThing

if TYPE_CHECKING:
    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Subject
    from tui.viewmodels.things.thing import Thing

THINGS: tuple[type[Thing], ...] = (NodeThing, PoolThing, JobThing, TaskThing)
_BY_KIND = {thing.kind: thing for thing in THINGS}


def thing_of(session: Session, subject: Subject) -> Thing | None:
    """The blade of a subject; None for what has none."""
    found = _BY_KIND.get(subject.kind)
    return None if found is None else found(session, subject)
