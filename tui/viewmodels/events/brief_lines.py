"""The newest events in a line each, for the Watch view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.viewmodels.text.styled import Line, Role, Span, fit, squeeze

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.viewmodels.events.event_list import EventsModel

_EVENT_CELLS, _ENTITY_CELLS = 22, 8  # wished for what happened, and at least for an id
_MOST_CHANGE = 26  # wished for the longest change of a state


def brief_lines(model: EventsModel, keys: Iterable[int], cells: int) -> list[Line]:
    """Return a line of at most ``cells`` for each event: time, kind, what happened, and the ids, which stay readable.

    The job is named once there are several. Where not all of this has room, what happened follows its kind at once,
    and only the new one of two states is named.
    """
    rows = [model.cells(key)[:5] for key in keys]
    times, kinds, _, entities, jobs = (max(map(cell_len, texts), default=0) for texts in _columns(rows))
    room = cells - times - 1
    of_job = min(jobs, _ENTITY_CELLS) if model.session.has_several_jobs else 0
    is_brief = of_job > 0 and room < kinds + _MOST_CHANGE + entities + jobs + 3
    if is_brief:
        event_cells = _EVENT_CELLS
        rows = [(time, kind, _new_state(said), *ids) for time, kind, said, *ids in rows]
    else:
        changes = (cell_len(said.text) for _, _, said, *_ in rows if " → " in said.text)
        event_cells = kinds + 1 + max(_EVENT_CELLS, min(_MOST_CHANGE, max(changes, default=0)))
    ids = min(entities, max(_ENTITY_CELLS, room - event_cells - 1 - (of_job + 1 if of_job else 0)))
    job_cells = min(jobs, room - event_cells - ids - 2) if of_job else 0
    if job_cells < of_job:
        job_cells = 0
    event_cells = room - ids - 1 - (job_cells + 1 if job_cells else 0)
    found = []
    for time, kind, said, entity, job in rows:
        word = kind.text if is_brief else fit(kind.text, kinds)
        parts = [
            time._replace(text=fit(time.text, times, right=True)),
            kind._replace(text=word),
            said._replace(text=fit(said.text, max(1, event_cells - cell_len(word) - 1))),
            entity._replace(text=fit(squeeze(entity.text, ids), ids)),
        ]
        if job_cells:
            parts.append(Span(squeeze(job.text, job_cells), Role.DIM))
        found.append(tuple(span for part in parts for span in (part, Span(" ")))[:-1])
    return found


def _new_state(said: Span) -> Span:
    """Return what happened without the state before it."""
    old, arrow, new = said.text.partition(" → ")
    return said._replace(text=f"→ {new}") if arrow and old.isalpha() else said


def _columns(rows: list[tuple[Span, ...]]) -> list[list[str]]:
    """Return the texts of each of the five columns."""
    return [[row[at].text for row in rows] for at in range(5)]
