"""Checks of exported objects: values that cannot be true are left out, with a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from engine.base.errors import Problem
from engine.base.shortening import quoted
from engine.base.units import parse_utc
from engine.histories.reading import Source

_INFOS = ("executionInfo", "jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo", "startTaskInfo")
_TIMES = (
    *("creationTime", "stateTransitionTime", "previousStateTransitionTime", "startTime", "endTime", "lastRetryTime"),
    *("lastRequeueTime", "allocationTime", "lastBootTime", "allocationStateTransitionTime"),
)
_COUNTS = ("retryCount", "requeueCount")
_MAPPINGS = (*_INFOS, "nodeInfo", "poolInfo", "constraints")


def epoch_ms(time: object) -> int | None:
    """Return the milliseconds from 1970 to a UTC time, or None for anything else."""
    return _epoch_ms(time) if isinstance(time, str) else None


@lru_cache(maxsize=1 << 16)  # the times of one object are asked for again and again
def _epoch_ms(time: str) -> int | None:
    try:
        moment = parse_utc(time)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)


class Checks:
    """The checks of one history."""

    def __init__(self, warn: Callable[[Problem], None]) -> None:
        self._warn = warn

    def check(self, body: dict[str, Any], source: Source) -> None:
        """Remove the values of an object that cannot be true."""
        for name in _MAPPINGS:
            if name in body and not isinstance(body[name], dict):
                self._warn(source.problem(f"must be an object, not {quoted(body.pop(name))}: it is left out", name))
        for part, path in _parts(body):
            self._check_part(part, source, path)
        self._check_order(body, source)

    def _check_part(self, part: dict[str, Any], source: Source, path: tuple[str, ...]) -> None:
        for name in _TIMES:
            if name in part and epoch_ms(part[name]) is None:
                message = (
                    f"must be a UTC time such as 2026-01-05T08:00:00Z, not {quoted(part.pop(name))}: it is left out"
                )
                self._warn(source.problem(message, *path, name))
        for name in _COUNTS:
            if name in part and not _is_whole(part[name], least=0):
                message = f"must be a whole number that is not negative, not {quoted(part.pop(name))}: it is left out"
                self._warn(source.problem(message, *path, name))
        if "exitCode" in part and not _is_whole(part["exitCode"]):
            message = f"must be a whole number, not {quoted(part.pop('exitCode'))}: it is left out"
            self._warn(source.problem(message, *path, "exitCode"))

    def _check_order(self, body: dict[str, Any], source: Source) -> None:
        """Leave out an end before the start, and a start before the creation."""
        created = epoch_ms(body.get("creationTime"))
        for name in _INFOS:
            info = body.get(name)
            if info is None:
                continue
            start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
            if start is not None and end is not None and end < start:
                message = (
                    f"it ends at {info.pop('endTime')}, before it starts at {info.pop('startTime')}: both are left out"
                )
                self._warn(source.problem(message, name))
            elif start is not None and created is not None and start < created:
                times = f"starts at {info['startTime']}, before it is created at {body.pop('creationTime')}"
                message = f"it {times}: the creation is left out"
                self._warn(source.problem(message, name))


def _parts(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    yield body, ()
    for name in _INFOS:
        if name in body:
            yield body[name], (name,)


def _is_whole(value: object, least: int | None = None) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)
