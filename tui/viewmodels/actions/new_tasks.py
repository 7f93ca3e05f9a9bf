"""The form that adds tasks to a job, and the body it results in."""

from __future__ import annotations

from engine.views.pages.jobs import JobRow
from tui.viewmodels.actions.action import Body, Field, whole

MOST_TASKS = 1_000

FIELDS = (
    Field[JobRow]("id", "Id", "several tasks get a number as well", lambda _: "added"),
    Field[JobRow]("count", "How many", f"1 to {MOST_TASKS:,}", lambda _: "1", whole),
    Field[JobRow]("commandLine", "Command line", "the command that runs", lambda _: "work"),
    Field[JobRow]("duration", "Runs for", "PT90S, PT5M, PT2H", lambda _: "PT1M", str.strip),
    Field[JobRow]("requiredSlots", "Required slots", "task slots on the node", lambda _: "1", whole),
    Field[JobRow]("dependsOn", "Depends on", "task ids, separated by spaces", read=str.split),
)


def compose(values: Body) -> Body:
    """Return the body with the described tasks. Raises ValueError with a sentence for the user."""
    count = values.get("count", 1)
    assert isinstance(count, int)
    if not 1 <= count <= MOST_TASKS:
        raise ValueError(f"How many: {count:,} must be between 1 and {MOST_TASKS:,}")
    stem = str(values.get("id", "")).strip()
    ids = [stem] if count == 1 else [f"{stem}-{number}" for number in range(1, count + 1)]
    body: dict[str, object] = {"commandLine": values.get("commandLine", "")}
    if "requiredSlots" in values:
        body["requiredSlots"] = values["requiredSlots"]
    if "duration" in values:
        body["simulate"] = {"duration": values["duration"]}
    if "dependsOn" in values:
        body["dependsOn"] = {"taskIds": values["dependsOn"]}
    return {"tasks": [{"id": task_id, **body} for task_id in ids]}
