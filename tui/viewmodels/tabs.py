"""The views, each with the key that opens it, its titles, and the list it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.events import EventsModel
from tui.viewmodels.instances import PreparationModel, ReleaseModel
from tui.viewmodels.job_schedules import JobSchedulesModel
from tui.viewmodels.jobs import JobsModel
from tui.viewmodels.nodes import NodesModel
from tui.viewmodels.pools import PoolsModel
from tui.viewmodels.tasks import TasksModel

if TYPE_CHECKING:
    from tui.viewmodels.lists import RowsModel


class Tab(NamedTuple):
    """A view. A view with a ``model`` is a blade that lists its rows."""

    key: str
    name: str
    title: str
    short: str
    model: type[RowsModel] | None = None


TABS = (
    Tab("1", "watch", "Watch", "Watch"),
    Tab("2", "pools", "Pools", "Pools", PoolsModel),
    Tab("3", "nodes", "Nodes", "Nodes", NodesModel),
    Tab("4", "jobs", "Jobs", "Jobs", JobsModel),
    Tab("5", "tasks", "Tasks", "Tasks", TasksModel),
    Tab("6", "preparation", "Preparation tasks", "Prep", PreparationModel),
    Tab("7", "release", "Release tasks", "Release", ReleaseModel),
    Tab("8", "timeline", "Timeline", "Time"),
    Tab("9", "events", "Events", "Events", EventsModel),
    Tab("0", "schedules", "Job schedules", "Sched", JobSchedulesModel),
)
VIEW_NAMES = tuple(tab.name for tab in TABS)
