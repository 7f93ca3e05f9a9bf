"""The views: key, titles and list of each; and the letters that lead to panes."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.lists.job_schedules import JobSchedulesModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.nodes import NodesModel
from tui.viewmodels.lists.pools import PoolsModel
from tui.viewmodels.lists.preparation import PreparationModel
from tui.viewmodels.lists.release import ReleaseModel
from tui.viewmodels.lists.tasks import TasksModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.lists.rows import RowsModel


class Tab(NamedTuple):
    """A view. A view with a ``model`` is a list page."""

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


def letters_for(titles: Sequence[str]) -> list[str]:
    """Return a letter for each title, preferably one of its own that no title before it has."""
    letters: list[str] = []
    for title in titles:
        wanted = (letter for letter in title.lower() + ascii_lowercase if letter in ascii_lowercase)
        free = next((letter for letter in wanted if letter not in letters), None)
        if free is not None:
            letters.append(free)
    return letters
