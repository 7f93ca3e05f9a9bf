"""The detail pages of a node, pool, job or task, with a tab for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.detail_pages.job import JobThing
from tui.viewmodels.detail_pages.node import NodeThing
from tui.viewmodels.detail_pages.pool import PoolThing
from tui.viewmodels.detail_pages.task import TaskThing

if TYPE_CHECKING:
    from tui.viewmodels.detail_pages.page import Thing
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

THINGS: tuple[type[Thing], ...] = (NodeThing, PoolThing, JobThing, TaskThing)
_BY_KIND = {thing.kind: thing for thing in THINGS}


def thing_of(session: Session, subject: ItemRef) -> Thing | None:
    """Return the detail page of an item, or None if its kind has none."""
    found = _BY_KIND.get(subject.kind)
    return None if found is None else found(session, subject)
