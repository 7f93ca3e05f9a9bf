"""The tabs over the lists of the job in focus, and the one that matters now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.views.pages.hook_status import HookStatus
from tui.viewmodels.text.styled import Line, Role, Span, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.pages.jobs import JobRow

PREPARATION, TASKS, RELEASE, EVENTS, EXPECTATIONS = "preparation", "tasks", "release", "events", "expectations"
CURVES = "curves"
_TITLES = {
    PREPARATION: ("Preparation tasks", "Preparation", "Prep"),
    TASKS: ("Tasks", "Tasks", "Tasks"),
    RELEASE: ("Release tasks", "Release", "Rel"),
    EVENTS: ("Events", "Events", "Events"),
    EXPECTATIONS: ("Expectations", "Expect", "Expect"),
    CURVES: ("Curves", "Curves", "Cur"),
}
_GAP = 2  # cells between tabs


def tabs_of(job: JobRow | None, *, has_expectations: bool, has_curves: bool = False) -> tuple[str, ...]:
    """Return the lists of a job and the expectations of the scenario; what neither has is left out.

    The curves are a tab if they have no pane of their own.
    """
    phases = None if job is None else job.phases
    has = {
        PREPARATION: phases is not None and phases.preparation.is_specified,
        TASKS: phases is not None,
        RELEASE: phases is not None and phases.release.is_specified,
        EXPECTATIONS: has_expectations,
        CURVES: has_curves,
    }
    return tuple(name for name in _TITLES if has.get(name, True))


def tab_that_matters(job: JobRow | None) -> str:
    """Return the list that shows what happens now: preparation before most tasks, release at the end."""
    if job is None:
        return EVENTS
    preparation, tasks, release = job.phases
    if release.is_specified and job.state in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING):
        return RELEASE
    preparing = preparation[HookStatus.RUNNING] + preparation[HookStatus.RETRYING]
    if preparing and preparing >= tasks.running + tasks.succeeded + tasks.failed:
        return PREPARATION
    return TASKS if tasks.total else EVENTS


def tab_spans(names: Sequence[str], shown: str, counts: Mapping[str, str], cells: int) -> Line:
    """Return the titles of the tabs in the longest form that fits, with a count beside each that has one."""
    forms = [[f"{_TITLES[name][form]} {counts.get(name, '')}".rstrip() for name in names] for form in range(3)]
    forms.append([_TITLES[name][2] for name in names])
    titles = next((each for each in forms if sum(map(len, each)) + _GAP * len(each) <= cells), forms[-1])
    spans: list[Span] = []
    for name, title in zip(names, titles, strict=True):
        role = Role.STRONG if name == shown else Role.DIM
        spans += [Span(title, role, is_underlined=name == shown, leads_to=name), Span(" " * _GAP)]
    return tuple(spans[:-1]) if width(spans) else ()
