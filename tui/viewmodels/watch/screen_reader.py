"""The Watch view as sentences, for screen readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.hook_status import Hook, HookStatus
from engine.views.pages.progress import jobs_worst_first
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import JOB, NODE, PREPARATION, RELEASE
from tui.viewmodels.text.styled import one_line, plain
from tui.viewmodels.watch.attention import CALM, AttentionModel
from tui.viewmodels.watch.estimates import ends

if TYPE_CHECKING:
    from engine.views.pages.jobs import JobRow, PoolRow
    from engine.views.pages.phases import HookCounts
    from tui.viewmodels.frame.header import Transport
    from tui.viewmodels.session.session import Session

_MOST_EVENTS = 5


def describe(session: Session, transport: Transport) -> list[str]:
    """Return sentences on time, pool, job, concerns and the newest events."""
    said = [_moment(session, transport)]
    pool, job = session.pool(session.pool_id), session.job(session.job_id)
    if pool is not None:
        said.append(_pool(pool))
    if job is None:
        return [*said, session.none_yet("job")[0], *_attention(session), *_events(session)]
    live = jobs_worst_first(session.simulation)[0]
    if len(live) > 1:
        said.append(f"{fmt.counted(len(live), 'job')} are not completed; in focus is {job.job_id}.")
    said += [_job(job), _hooks("Preparation", job.phases.preparation, Hook.PREPARATION), _tasks(job)]
    said.append(_hooks("Release", job.phases.release, Hook.RELEASE))
    if told := plain(ends(session, job)).replace(session.text(" · "), ", ").replace("   ", "; "):
        said.append(_sentence(told))
    return [*said, *_attention(session), *_events(session)]


def _moment(session: Session, transport: Transport) -> str:
    if session.is_past:
        goes = f"{fmt.span(session.newest_ms - session.now_ms)} before the newest moment"
    elif transport.is_finished:
        goes = "nothing more can happen"
    elif transport.is_playing:
        goes = f"running at {'maximum speed' if transport.speed is None else f'{transport.speed:g} times real time'}"
    else:
        goes = "paused"
    now = fmt.date_and_clock(session.simulation.scenario.start, session.now_ms)
    return f"It is {now}, {fmt.span(session.now_ms)} after the start; {goes}."


def _pool(pool: PoolRow) -> str:
    states = _listed([f"{number:,} {NODE[state].name}" for state, number in pool.node_counts if number])
    allocation = pool.allocation.wire if pool.allocation is not None else "deleted"
    target = pool.target_dedicated + pool.target_spot
    nodes = f"has {fmt.counted(pool.live_nodes, 'node')} of {target:,} targeted{f': {states}' if states else ''}"
    usable = f" {pool.used_slots:,} of {fmt.counted(pool.usable_slots, 'usable task slot')}"
    slots = f"{usable} {'is' if pool.usable_slots == 1 else 'are'} in use." if pool.usable_slots else ""
    return f"Pool {pool.pool_id} is {allocation} and {nodes}.{slots}"


def _job(job: JobRow) -> str:
    why = f", {job.terminate_reason}" if job.terminate_reason else ""
    return f"Job {job.job_id} is {JOB[job.state].name}{why}, with priority {job.priority}."


def _hooks(name: str, counts: HookCounts, hook: Hook) -> str:
    if not counts.is_specified:
        return f"{name}: the job has no {name.lower()} task."
    table = PREPARATION if hook is Hook.PREPARATION else RELEASE
    found = [
        f"{table[status].name} on {fmt.counted(counts[status], 'node')}" for status in HookStatus if counts[status]
    ]
    if counts.without_record:
        found.append(f"not started on {fmt.counted(counts.without_record, 'node')}")
    return f"{name}: {_listed(found) or 'no node yet'}."


def _tasks(job: JobRow) -> str:
    counts = job.phases.tasks
    if not counts.total:
        return "There are no tasks."
    numbers = (
        (counts.succeeded, "succeeded"),
        (counts.failed, "failed"),
        (counts.running, "running"),
        (counts.preparing, "preparing"),
        (counts.active, "waiting" if job.is_live else "never run"),
    )
    parts = _listed([f"{number:,} {word}" for number, word in numbers if number])
    wait_ms = counts.oldest_wait_ms
    oldest = "" if wait_ms is None else f" The oldest wait is {fmt.span(wait_ms)}."
    return f"{fmt.counted(counts.total, 'task')}: {parts}.{oldest}"


def _attention(session: Session) -> list[str]:
    model = AttentionModel(session)
    model.update()
    if not model.concerns:
        return [CALM]
    said = [f"{fmt.counted(len(model.concerns), 'thing')} need{'s' if len(model.concerns) == 1 else ''} attention."]
    for number, concern in enumerate(model.concerns, 1):
        parts = (" ".join(model.text_of(concern).split()), concern.effect, concern.remedy)
        said.append(f"{number}: {' '.join(_sentence(part) for part in parts if part)}")
    return said


def _events(session: Session) -> list[str]:
    model = EventsModel(session)
    model.update()
    newest = [model.key(at) for at in reversed(range(max(0, model.count - _MOST_EVENTS), model.count))]
    said = [one_line(_event(model, key)).replace("→", "to") for key in newest]
    return ["Newest events first:", *(f"{each}." for each in said)] if said else []


def _event(model: EventsModel, key: int) -> str:
    """Return an entry in the order of a sentence: who comes before what happened."""
    time, kind, said, entity, job = (cell.text for cell in model.cells(key)[:5])
    of_job = f"of {job}" if job and model.session.has_several_jobs else ""
    return f"{time} {kind} {entity} {of_job} {said}"


def _listed(parts: list[str]) -> str:
    """Return the parts as ``a, b and c``."""
    return " and ".join(part for part in (", ".join(parts[:-1]), "".join(parts[-1:])) if part)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
