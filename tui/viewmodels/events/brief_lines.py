"""The newest events in a line each, for the Watch view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.viewmodels.text.styled import Line, Role, Span, fit, squeeze

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.viewmodels.events.event_list import EventsModel

_EVENT_CELLS, _ENTITY_CELLS = 22, 8  # wished for what happened, and at least for an id


def brief_lines(model: EventsModel, keys: Iterable[int], cells: int) -> list[Line]:
    """Return a line of at most ``cells`` for each event: time, kind, what happened, and the ids, which stay readable.

    The job is named once there are several, if it has room.
    """
    rows = [model.cells(key)[:5] for key in keys]
    times, kinds, _, entities, jobs = (max(map(cell_len, texts), default=0) for texts in _columns(rows))
    room = cells - times - kinds - 2
    ids = min(entities, max(_ENTITY_CELLS, room - _EVENT_CELLS - 1))
    job_cells = min(jobs, room - _EVENT_CELLS - ids - 2) if model.session.has_several_jobs else 0
    if job_cells < _ENTITY_CELLS:
        job_cells = 0
    said_cells = max(1, room - ids - 1 - (job_cells + 1 if job_cells else 0))
    found = []
    for time, kind, said, entity, job in rows:
        parts = [
            time._replace(text=fit(time.text, times, right=True)),
            kind._replace(text=fit(kind.text, kinds)),
            said._replace(text=fit(said.text, said_cells)),
            entity._replace(text=fit(squeeze(entity.text, ids), ids)),
        ]
        if job_cells:
            parts.append(Span(squeeze(job.text, job_cells), Role.DIM))
        found.append(tuple(span for part in parts for span in (part, Span(" ")))[:-1])
    return found


def _columns(rows: list[tuple[Span, ...]]) -> list[list[str]]:
    """Return the texts of each of the five columns."""
    return [[row[at].text for row in rows] for at in range(5)]
