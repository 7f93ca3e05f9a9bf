"""Answers to "why?" about anything that a name stands for, as data: for ``batchdeck why``, text and JSON.

A name is ``job:ID``, ``task:JOB/TASK``, ``pool:ID``, ``node:POOL/3`` or the id of a node, ``preparation:JOB/3``,
``release:JOB/3`` or ``schedule:ID``, or an id alone where one thing has it. 3 is the index of the node in its pool.
Resources that were deleted are found too. Without a name, each concern is explained.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import SECOND_MS, format_time, quoted
from engine.run.agenda import basis_words
from engine.views.diagnosis.concerns import Attention, attention_item, subject_of
from engine.views.diagnosis.jobs import why_job, why_schedule
from engine.views.diagnosis.model import Finding, Items, Next
from engine.views.diagnosis.nodes import why_preparation, why_release
from engine.views.diagnosis.questions import expected, explain
from engine.views.diagnosis.remedies import Remedies, Remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.views.diagnosis.model import Explanation
    from engine.world import World


FORMS = {
    "job": "job:ID",
    "task": "task:JOB/TASK",
    "pool": "pool:ID",
    "node": "node:POOL/3",
    "preparation": "preparation:JOB/3",
    "release": "release:JOB/3",
    "schedule": "schedule:ID",
}
_RECORDS = ("job", "pool", "schedule")
_MOST_TRIED = 8  # concerns of which it is played on what ends them, and remedies are tried
_MOST_CONCERNS = 2  # about one thing, for which remedies are tried
_MOST_COMPARED, _LONGEST = 20_000, 200  # names that may be near, and their letters
_MOST_FORMS = 6  # that an ambiguous id is answered with


class UnknownSubject(ValueError):
    """A name stands for nothing, or for several things. The text says so and names what is near."""


class Subject(NamedTuple):
    """A thing that can be explained: the row of a task or node, the record of a pool, job or schedule."""

    kind: str  # a key of ``FORMS``
    row: int
    job: int = -1  # of a preparation or release


def find_subject(simulation: Simulation, name: str) -> Subject:
    """Return what a name stands for.

    Raises:
        UnknownSubject: It stands for nothing, or for several things.
    """
    world = simulation.world
    form, colon, rest = name.partition(":")
    if colon and form in FORMS:
        found = _of_form(world, form, rest)
        if found is not None:
            return found
    several = list(dict.fromkeys(_with_id(world, name)))
    if len(several) == 1:
        return several[0]
    if several:
        forms = [named(world, one) for one in several[:_MOST_FORMS]]
        more = ", ..." if len(several) > _MOST_FORMS else ""
        raise UnknownSubject(f"{quoted(name)} is the id of several things: {', '.join(forms)}{more}")
    if colon and form in FORMS:
        raise UnknownSubject(f"there is no {quoted(name)}{_nearest(name, _names(world, form))}")
    raise UnknownSubject(f"nothing is called {quoted(name)}{_nearest(name, (*_names(world), *_ids(world)))}")


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the name that is most like an unknown one, or the forms of names if there is none, after a colon."""
    near = get_close_matches(name[:_LONGEST], islice(names, _MOST_COMPARED), 1, cutoff=0)
    return f": the nearest is {near[0]}" if near else f": a subject is {', '.join(FORMS.values())}"


def _of_form(world: World, form: str, rest: str) -> Subject | None:
    """Return the thing that a name with a form stands for; None if there is none."""
    record: Job | Pool | JobSchedule | None
    owner, slash, last = rest.rpartition("/")
    match form:
        case "job" | "pool" | "schedule":
            record = _latest(world, form, rest)
            return None if record is None else Subject(form, record.row)
        case "task" | "node" if not slash:
            found = [one for one in _with_id(world, rest) if one.kind == form]
            return found[0] if len(found) == 1 else None
        case "node":
            pools, job = [world.pools.latest(owner)], None
        case _:
            job = world.jobs.latest(owner)
            if job is None:
                return None
            if form == "task":
                row = _task(world, job, last)
                return None if row is None else Subject(form, row)
            pools = [world.pools[job.pool] if job.pool >= 0 else None, world.pools.latest(job.pool_id)]
    nodes = (_node(world, pool, last) for pool in pools if pool is not None)
    node = next((node for node in nodes if node is not None), None)
    return None if node is None else Subject(form, node, -1 if job is None else job.row)


def _latest(world: World, kind: str, record_id: str) -> Job | Pool | JobSchedule | None:
    """Return the record of this id, the last deleted one if there is no other."""
    match kind:
        case "job":
            return world.jobs.latest(record_id)
        case "pool":
            return world.pools.latest(record_id)
    return world.job_schedules.latest(record_id)


def _task(world: World, job: Job, task_id: str) -> int | None:
    """Return the row of a job's task, a deleted one if there is no other."""
    found = world.tasks.find(job.row, task_id)
    if found is not None:
        return found
    for number in reversed(job.blocks):
        block = world.tasks.blocks[number]
        ordinal = block.source.ordinal_of(task_id)
        if ordinal is not None:
            return block.first + ordinal
    return None


def _node(world: World, pool: Pool, index: str) -> int | None:
    """Return the row of the node with this index in a pool, written ``3`` or ``n3``, or with this id."""
    digits = index.removeprefix("n")
    if digits.isdecimal():
        return next((node for node in pool.nodes if world.nodes[node].position == int(digits)), None)
    return next((node for node in pool.nodes if world.nodes[node].id.lower() == index.lower()), None)


def _with_id(world: World, name: str) -> Iterator[Subject]:
    """Yield all things with an id, in any case."""
    for kind in _RECORDS:
        record = _latest(world, kind, name)
        if record is not None:
            yield Subject(kind, record.row)
    for job in world.jobs.rows:
        task = _task(world, job, name)
        if task is not None:
            yield Subject("task", task)
    wanted = name.lower()
    nodes = (node for pool in world.pools.rows for node in pool.nodes)
    yield from (Subject("node", node) for node in nodes if world.nodes[node].id.lower() == wanted)


def _ids(world: World) -> Iterator[str]:
    """Yield the ids of jobs, pools and job schedules, and those of tasks."""
    yield from (name.partition(":")[2] for name in _names(world))
    yield from world.tasks.task_ids(range(world.tasks.length))


def _names(world: World, form: str = "") -> Iterator[str]:
    """Yield the names of all things of a form, or of those with an id of their own."""
    numbers = len(world.jobs.rows), len(world.pools.rows), len(world.job_schedules.rows)
    for kind, number in zip(_RECORDS, numbers, strict=True):
        if form in ("", kind):
            yield from (named(world, Subject(kind, row)) for row in range(number))
    if form == "task":
        yield from (named(world, Subject(form, task)) for task in range(world.tasks.length))
    if form == "node":
        yield from (named(world, Subject("node", node)) for pool in world.pools.rows for node in pool.nodes)
    if form in ("preparation", "release"):
        for job in world.jobs.rows:
            pool = world.pools.latest(job.pool_id)
            for node in pool.nodes if pool is not None else ():
                yield named(world, Subject(form, node, job.row))


def named(world: World, subject: Subject) -> str:
    """Return the full name of a thing."""
    kind, row, job = subject
    match kind:
        case "task":
            tasks = world.tasks
            return f"task:{world.jobs[tasks.block_of(row).job].id}/{tasks.task_id(row)}"
        case "node":
            return f"node:{world.pool_of(row).id}/{world.nodes[row].position}"
        case "preparation" | "release":
            return f"{kind}:{world.jobs[job].id}/{world.nodes[row].position}"
        case "job":
            return f"job:{world.jobs[row].id}"
        case "pool":
            return f"pool:{world.pools[row].id}"
    return f"schedule:{world.job_schedules[row].id}"


# -- answers -----------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The answer about one thing at a moment of a run. ``finding`` is the concern that is explained, if any."""

    simulation: Simulation
    items: Items
    explanations: tuple[Explanation, ...]
    coming: Next | None  # what ends the wait if nobody intervenes, as the run played on has shown
    finding: Finding | None = None
    remedies: Sequence[Remedy] | None = None  # None: nothing could be tried

    def as_json(self) -> dict[str, object]:
        """Return the answer as an object of JSON; times are in seconds from the start."""
        world, clock = self.simulation.world, partial(format_time, self.simulation.scenario.start)
        item = None if self.finding is None else attention_item(world, self.finding)
        questions = [each.question for each in self.explanations]
        told = [_told(one, each.question, clock) for each in self.explanations for one in each.findings]
        if item is not None:
            question = questions[0] if questions else item.text
            said, is_advice = "; ".join(filter(None, (item.text, item.effect))), item.severity == "info"
            told = [_finding(None if is_advice else False, item.kind, said, item.rules, question), *told]
        return {
            "subject": subject_of(world, self.items) if item is None else item.subject,
            "at": self.simulation.now_ms / SECOND_MS,
            "question": questions[0] if questions else "" if item is None else item.text,
            "findings": told,
            "next": _event(
                next((each.next_change for each in self.explanations if each.next_change is not None), None)
            ),
            "expected": _event(self.coming),
            "remedies": [remedy._asdict() for remedy in self.remedies or ()],
        } | ({} if item is None else {"attention": item._asdict()})

    def lines(self) -> Iterator[str]:
        """Yield the answer as lines of text."""
        if self.finding is not None:
            item = attention_item(self.simulation.world, self.finding, with_subject=False)
            yield f"{item.severity}: {item.text}" + (f" [{', '.join(item.rules)}]" if item.rules else "")
            is_useless = self.remedies is not None and not self.remedies  # as trials have shown
            yield from filter(None, (item.effect, item.remedy and not is_useless and f"What helps: {item.remedy}"))
        for number, each in enumerate(self.explanations):
            if number or self.finding is not None:
                yield ""
            yield from each.lines()
        coming, clock = self.coming, partial(format_time, self.simulation.scenario.start)
        if coming is not None:
            said = coming.text, clock(coming.when_ms), basis_words(coming.basis, clock)
            yield f"Expected: {', '.join(filter(None, said))} [{coming.rule}]"
        for remedy in self.remedies or ():
            ((name, body),) = remedy.command.items()
            yield f"Tried: {remedy.says}"
            yield f"  {name}: {json.dumps(body)}"


def answer_about(simulation: Simulation, subject: Subject) -> Answer:
    """Answer the questions that one thing raises at this moment."""
    items, attention = _items_of(simulation.world, subject), Attention(simulation)
    trials = Remedies(simulation, attention)
    concerns = [one for one in attention.concerns() if _is_about(one, subject, items)][:_MOST_CONCERNS]
    explained, coming = tuple(_explained(simulation, subject)), _coming(simulation, subject)
    remedies = {str(remedy.command): remedy for one in concerns for remedy in trials.of(one, items) or ()}
    return Answer(simulation, items, explained, coming, remedies=tuple(remedies.values()))


def _is_about(concern: Finding, subject: Subject, items: Items) -> bool:
    """Return whether a concern is about a thing."""
    mine = concern.items
    match subject.kind:
        case "task":
            return subject.row in mine.tasks
        case "job":
            return concern.about in ("job", "preparation") and items.jobs[0] in mine.jobs
        case "pool":
            return concern.about == "pool" and items.pools[0] in mine.pools
        case "schedule":
            return items.schedules[0] in mine.schedules
    return subject.row in mine.nodes and (not items.jobs or items.jobs[0] in mine.jobs)


def answers_to_concerns(simulation: Simulation) -> list[Answer]:
    """Explain each concern of this moment by its first item, the most serious first."""
    found, attention = [], Attention(simulation)
    trials = Remedies(simulation, attention)
    for number, concern in enumerate(attention.concerns()):
        subject = _first_of(simulation.world, concern)
        explained = () if subject is None else tuple(_explained(simulation, subject))
        coming: Next | None = None
        remedies: Sequence[Remedy] | None = None
        if subject is not None and number < _MOST_TRIED:
            coming = _coming(simulation, subject)
            remedies = trials.of(concern, _items_of(simulation.world, subject))
        found.append(Answer(simulation, concern.items, explained, coming, concern, remedies))
    return found


def _explained(simulation: Simulation, subject: Subject) -> Sequence[Explanation]:
    world, (kind, row, job) = simulation.world, subject
    match kind:
        case "job" if (one := world.jobs[row]).state is None:
            return [why_job(world, one)]
        case "job":
            return explain(simulation, kind, world.jobs[row].id)
        case "schedule":
            return [why_schedule(world, world.job_schedules[row], simulation.now_ms)]
        case "pool":
            return explain(simulation, kind, world.pools[row].id)
        case "preparation" | "release":
            why = why_preparation if kind == "preparation" else why_release
            return [why(world, world.jobs[job], row)]
    return explain(simulation, kind, row)


def _coming(simulation: Simulation, subject: Subject) -> Next | None:
    """Return what ends the wait of a thing if nobody intervenes; None if it waits for nothing, or nothing ends it."""
    world, (kind, row, _) = simulation.world, subject
    key: int | str = row
    match kind:
        case "job":
            key = world.jobs[row].id
        case "pool":
            key = world.pools[row].id
        case "preparation" | "release" | "schedule":
            return None
    found = expected(simulation, kind, key)
    return found if found is not None and found.rule else None  # without a rule nothing changes


def _items_of(world: World, subject: Subject) -> Items:
    kind, row, job = subject
    match kind:
        case "job":
            return Items(jobs=(world.jobs[row].id,))
        case "pool":
            return Items(pools=(world.pools[row].id,))
        case "schedule":
            return Items(schedules=(world.job_schedules[row].id,))
        case "task":
            return Items(tasks=(row,), jobs=(world.jobs[world.tasks.block_of(row).job].id,))
    return Items(nodes=(row,), jobs=() if job < 0 else (world.jobs[job].id,))


def _first_of(world: World, concern: Finding) -> Subject | None:
    """Return the first item of a concern."""
    items, about = concern.items, concern.about
    job = world.jobs.find(items.jobs[0]) if items.jobs else None
    if items.tasks and about != "job":
        return Subject("task", items.tasks[0])
    if items.nodes and about in ("preparation", "release") and job is not None:
        return Subject(about, items.nodes[0], job.row)
    if items.nodes and about != "job":
        return Subject("node", items.nodes[0])
    if job is not None:
        return Subject("job", job.row)
    schedule = world.job_schedules.latest(items.schedules[0]) if items.schedules else None
    if schedule is not None:
        return Subject("schedule", schedule.row)
    pool = world.pools.find(items.pools[0]) if items.pools else None
    return None if pool is None else Subject("pool", pool.row)


def _told(one: Finding, question: str, clock: Callable[[int], str]) -> dict[str, object]:
    said = f"{one.size:,} {one.said(clock)}" if one.size and not one.label else one.said(clock)
    return _finding(one.ok, one.label, said, (one.rule,) if one.rule else (), question)


def _finding(ok: bool | None, what: str, says: str, rules: Sequence[str], question: str) -> dict[str, object]:
    return {"ok": ok, "what": what, "says": says, "rules": list(rules), "question": question}


def _event(event: Next | None) -> dict[str, object] | None:
    return None if event is None else {"at": event.when_ms / SECOND_MS, "says": event.text}
