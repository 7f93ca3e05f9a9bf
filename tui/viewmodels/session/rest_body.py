"""The REST body of an item, as the service would return it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.views.rest import lookup

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef


def rest_body(session: Session, subject: ItemRef) -> dict[str, Any] | None:
    """Return the REST body of an item, or None if it does not exist now."""
    simulation, key = session.simulation, subject.key
    match subject.kind:
        case "pool":
            return lookup.pool_wire(simulation, str(key))
        case "job":
            return lookup.job_wire(simulation, str(key))
        case "job schedule":
            return lookup.schedule_wire(simulation, str(key))
        case "node":
            return lookup.node_wire(simulation, int(key))
        case "task":
            return lookup.task_wire(simulation, int(key))


def as_json(body: dict[str, Any]) -> str:
    """Return the body as indented JSON."""
    return json.dumps(body, indent=2, ensure_ascii=False)
