"""The detail pages of the account, a node, pool, job or task, with a tab for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.detail_pages.account import AccountDetailModel
from tui.viewmodels.detail_pages.job import JobDetailModel
from tui.viewmodels.detail_pages.node import NodeDetailModel
from tui.viewmodels.detail_pages.pool import PoolDetailModel
from tui.viewmodels.detail_pages.task import TaskDetailModel

if TYPE_CHECKING:
    from tui.viewmodels.detail_pages.page import DetailModel
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

DETAIL_MODELS: tuple[type[DetailModel], ...] = (
    AccountDetailModel,
    NodeDetailModel,
    PoolDetailModel,
    JobDetailModel,
    TaskDetailModel,
)
_BY_KIND = {thing.kind: thing for thing in DETAIL_MODELS}


def detail_model_of(session: Session, subject: ItemRef) -> DetailModel | None:
    """Return the detail page of an item, or None if its kind has none."""
    found = _BY_KIND.get(subject.kind)
    return None if found is None else found(session, subject)
