"""The form for tasks that are added by hand: what is asked, and the command that it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.specs.commands import AddTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_TASKS = 1_000


class Field(NamedTuple):
    """A line of the form."""

    name: str
    label: str
    default: str
    hint: str


FIELDS = (
    Field("id", "Id", "added", "letters, digits, - and _; a number follows where there are several"),
    Field("count", "How many", "1", f"1 to {MOST_TASKS:,}"),
    Field("command", "Command line", "work", "what runs"),
    Field("duration", "Runs for", "PT1M", "PT90S, PT5M, PT2H"),
    Field("slots", "Required slots", "1", "task slots of a node"),
    Field("depends", "Depends on", "", "ids of tasks, with blanks between"),
)


def add_tasks(job_id: str, answers: Mapping[str, str]) -> AddTasks:
    """The command. Raises ValueError with a sentence for the user."""
    count = _whole("How many", answers["count"])
    if not 1 <= count <= MOST_TASKS:
        raise ValueError(f"How many: {count:,} is not between 1 and {MOST_TASKS:,}")
    body: dict[str, object] = {
        "commandLine": answers["command"],
        "requiredSlots": _whole("Required slots", answers["slots"]),
        "simulate": {"duration": answers["duration"].strip()},
    }
    if depends := answers["depends"].split():
        body["dependsOn"] = {"taskIds": depends}
    stem = answers["id"].strip()
    ids = [stem] if count == 1 else [f"{stem}-{number}" for number in range(1, count + 1)]
    return AddTasks.from_wire({"jobId": job_id, "tasks": [{"id": task_id, **body} for task_id in ids]})


def _whole(label: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{label}: {text!r} is no whole number") from None
