"""Figures collected from the objects of the service, one by one, whether a run or an account has returned them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
from engine.comparison.figures import Times
from engine.histories.checks import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.histories.objects import Body

_PREPARATION, _RELEASE = "jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo"


class Collected:
    """The times of tasks, preparations, releases and jobs. Memory is that of two numbers a task."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._waits_ms = array("q")
        self._runs_ms = array("q")
        self._hook_ms = {_PREPARATION: 0, _RELEASE: 0}
        self._job_ends: dict[str, int | None] = {}  # ms since 1970
        self.tasks = 0
        self.succeeded = 0
        self.failed = 0
        self.failed_preparations = 0
        self.failed_releases = 0
        self.first_task_ms: int | None = None  # its creation, since 1970
        self.last_task_ms: int | None = None  # the end of the last task, since 1970
        self.latest_ms: int | None = None  # the latest time of any object, since 1970
        self.nodes: dict[str, None] = {}  # ids, in lower case, on which something ran

    def take_task(self, body: Body) -> None:
        """Take a task."""
        info = body.get("executionInfo", {})
        created, started, ended = self._moments(body.get("creationTime"), info.get("startTime"), info.get("endTime"))
        self.tasks += 1
        if created is not None:
            self.first_task_ms = min(created, self.first_task_ms or created)
            if started is not None:
                self._waits_ms.append(started - created)
        if ended is not None:
            self.last_task_ms = max(ended, self.last_task_ms or ended)
            if started is not None:
                self._runs_ms.append(ended - started)
        if body.get("state") == "completed":
            has_failed = _has_failed(info)
            self.failed += has_failed
            self.succeeded += not has_failed
        self._note_node(body.get("nodeInfo", {}).get("nodeId"))

    def take_instance(self, body: Body) -> None:
        """Take an entry of the preparation and release status of a job."""
        for name in (_PREPARATION, _RELEASE):
            info = body.get(name, {})
            started, ended = self._moments(info.get("startTime"), info.get("endTime"))
            if started is not None and ended is not None:
                self._hook_ms[name] += ended - started
        self.failed_preparations += _has_failed(body.get(_PREPARATION, {}))
        self.failed_releases += _has_failed(body.get(_RELEASE, {}))
        self._note_node(body.get("nodeId"))

    def take_job(self, body: Body) -> None:
        """Take a job."""
        ended, *_ = self._moments(
            body.get("executionInfo", {}).get("endTime"), body.get("creationTime"), body.get("stateTransitionTime")
        )
        self._job_ends[str(body["id"])] = ended

    def _note_node(self, node_id: object) -> None:
        if isinstance(node_id, str):
            self.nodes[node_id.casefold()] = None

    def _moments(self, *times: object) -> list[int | None]:
        moments = [epoch_ms(time) for time in times]
        self.latest_ms = max((ms for ms in (*moments, self.latest_ms) if ms is not None), default=None)
        return moments

    def times(self) -> Times:
        """Return all times."""
        return Times(self._waits_ms, self._runs_ms, self._hook_ms[_PREPARATION], self._hook_ms[_RELEASE])

    def job_ends(self, start_ms: int | None) -> Mapping[str, float | None]:
        """Return the ends of jobs in seconds after a moment, which is given in ms since 1970."""
        return {
            job_id: None if end_ms is None or start_ms is None else (end_ms - start_ms) / SECOND_MS
            for job_id, end_ms in self._job_ends.items()
        }


def _has_failed(info: Body) -> bool:
    """Return whether a process has failed; results that are not told follow from the exit code (RETRY-11)."""
    result = info.get("result")
    if isinstance(result, str):
        return result == "failure"
    return "failureInfo" in info or bool(info.get("exitCode"))
