"""Replays of histories: a run is exported and imported, and the scenario is run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.errors import TRAPS
from engine.histories.azure import imported
from engine.histories.files import scenario_lines
from engine.histories.history import epoch_ms, read_history
from engine.scenario.load import load
from tests.histories.dialects import state_of, written

if TYPE_CHECKING:
    from pathlib import Path

    from engine import Scenario

SHARE = 0.02  # by which a replay may be early or late
LEAST_MS = 1500  # what it may be early or late where the share is less


def import_text(folder: Path) -> str:
    """The scenario of the exports in a folder."""
    return "\n".join(scenario_lines(imported(read_history([folder])))) + "\n"


def differences(state: dict[str, Any], folder: Path, dialect: str) -> list[str]:
    """What a replay of the exported and imported state does otherwise."""
    written(state, folder, dialect)
    scenario = read_back(import_text(folder))
    before, after = _moments(state), _moments(state_of(scenario))
    zero = min(epoch_ms(job["creationTime"]) or 0 for job in state["jobs"])
    found = [f"{subject} is missing" for subject in before if subject not in after]
    for subject in before.keys() & after.keys():
        then, now = before[subject], after[subject]
        for name in then.keys() | now.keys():
            if not _agree(then.get(name), now.get(name), zero):
                found.append(f"{subject}: {name} was {then.get(name)} and is {now.get(name)}")
    return sorted(found)


def read_back(text: str) -> Scenario:
    """An imported scenario, whose only warnings are about traps in which the original was caught."""
    scenario = load("imported", text=text)
    assert {warning.code for warning in scenario.warnings} <= TRAPS
    return scenario


def _agree(then: Any, now: Any, zero: int) -> bool:
    start, end = epoch_ms(then), epoch_ms(now)
    if start is None or end is None:
        return bool(then == now)
    return abs(start - end) <= max(LEAST_MS, SHARE * (start - zero))


def _moments(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The times and results of jobs and tasks."""
    found: dict[str, dict[str, Any]] = {}
    for job in state["jobs"]:
        job_id = job["id"].replace(":", "-")
        found[job_id] = {"state": job["state"], "end": job["executionInfo"].get("endTime")}
        for task in job["tasks"]:
            info = task["executionInfo"]
            names = ("startTime", "endTime", "exitCode", "retryCount", "result")
            found[f"{job_id}/{task['id']}"] = {"state": task["state"]} | {name: info.get(name) for name in names}
    return found
