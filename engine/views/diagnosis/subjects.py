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

from engine.base.terms import TaskResult
from engine.base.values import SECOND_MS, format_time, quoted
from engine.run.agenda import basis_words
from engine.specs.commands import COMMANDS
from engine.state.tasks import COMPLETED
from engine.views.diagnosis.concerns import Attention, about_item, attention_item, kind_of, subject_of, with_advice
from engine.views.diagnosis.model import Finding, Items, Next, moment, some
from engine.views.diagnosis.nodes import why_preparation, why_release
from engine.views.diagnosis.questions import expected, explain
from engine.views.diagnosis.remedies import candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.state.tables import NamedRecords
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
            record = _records(world, form).latest(rest)
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


def _records(world: World, kind: str) -> NamedRecords[Job] | NamedRecords[Pool] | NamedRecords[JobSchedule]:
    return world.jobs if kind == "job" else world.pools if kind == "pool" else world.job_schedules


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
        record = _records(world, kind).latest(name)
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
    for kind in (form,) if form in _RECORDS else () if form else _RECORDS:
        yield from (f"{kind}:{record.id}" for record in _records(world, kind).rows)
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
    return f"{kind}:{_records(world, kind)[row].id}"


# -- remedies that are tried ----------------------------------------------------------------------------------------

MOST_ENTRIES = 5_000  # of the log, that are played
_SLICE = 256
_MOST_REMEDIES = 3  # of one concern, that are tried


class Remedy(NamedTuple):
    """A command that ends a concern, as an entry of a timeline, and what it has done in the trial."""

    command: dict[str, object]
    says: str
    helps: bool | None


class _Course(NamedTuple):
    """The end of a run that was played on."""

    until_ms: int
    concerns: Sequence[Finding]
    succeeded: int  # tasks


class Remedies:
    """The remedies for the concerns of one moment; what happens without them is played once."""

    def __init__(self, simulation: Simulation, attention: Attention) -> None:
        """Start at the present moment."""
        self._simulation = simulation
        self._attention = attention
        self._without: _Course | None = None

    def of(self, concern: Finding, items: Items) -> list[Remedy] | None:
        """Return the remedies for a concern about some of its items; None if nothing could be tried.

        Nothing can be tried where no time is left in the run, or while the past is shown.
        """
        simulation = self._simulation
        if simulation.is_past or simulation.now_ms >= simulation.end_ms:
            return None
        tried = list(candidates(simulation.world, concern, items))[:_MOST_REMEDIES]
        if not tried:
            return None
        without = self._without = self._without or self._course(None)
        if without is None or not _is_there(without.concerns, concern, items):
            return []  # it passes by itself
        found = []
        for words, name, body in tried:
            course = self._course(COMMANDS[name].from_wire(body))
            more = 0 if course is None else course.succeeded - without.succeeded
            has_run = more > 0 or name != "reactivateTask"
            if course is not None and has_run and not _is_there(course.concerns, concern, items):
                gain = f", and {some(more, 'more task')} succeed{'s' if more == 1 else ''}" if more > 0 else ""
                says = f"{words}: simulated until {moment(simulation.world, course.until_ms)}, it is over{gain}"
                found.append(Remedy({name: body}, says, helps=True))
        return found

    def _course(self, command: Command | None) -> _Course | None:
        """Play on, with a command or without; return None if the service refuses it. Everything is undone."""
        simulation = self._simulation
        with simulation.trial():
            if command is not None and any(simulation.submit_all([command])):
                return None
            last = len(simulation.log) + MOST_ENTRIES
            while len(simulation.log) < last and simulation.advance(simulation.end_ms, _SLICE):
                pass
            jobs = simulation.world.jobs.rows
            succeeded = sum(job.counts[COMPLETED] - job.failed + job.deleted.get(TaskResult.SUCCESS, 0) for job in jobs)
            concerns = [_settled(one) for one in self._attention.concerns()]
            return _Course(min(simulation.now_ms, simulation.log.last_ms), concerns, succeeded)


def _settled(concern: Finding) -> Finding:
    """Return a concern whose tasks are known after the trial, too: they are read from the log."""
    return concern._replace(items=concern.items._replace(tasks=tuple(concern.items.tasks[:])))


def _is_there(concerns: Sequence[Finding], concern: Finding, items: Items) -> bool:
    """Return whether a concern of the same kind is about any of the items."""
    same = [one.items for one in concerns if kind_of(one) is kind_of(concern)]
    for name in ("tasks", "nodes", "jobs", "pools"):
        if mine := getattr(items, name):
            return any(mine[0] in getattr(one, name) for one in same)
    return True


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
            is_told = bool(self.explanations) or self.remedies == []  # trials have shown that it is useless
            yield from filter(None, (item.effect, "" if is_told or not item.remedy else f"What helps: {item.remedy}"))
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
    concerns = about_item(attention.concerns(), *_key_of(simulation.world, subject))[:_MOST_CONCERNS]
    found, coming = _explained(simulation, subject), _coming(simulation, subject)
    explained = tuple(with_advice(simulation, found, concerns))
    remedies = {str(remedy.command): remedy for one in concerns for remedy in trials.of(one, items) or ()}
    return Answer(simulation, items, explained, coming, remedies=tuple(remedies.values()))


def answers_to_concerns(simulation: Simulation) -> list[Answer]:
    """Explain each concern of this moment by its first item, the most serious first."""
    found, attention = [], Attention(simulation)
    trials = Remedies(simulation, attention)
    for number, concern in enumerate(attention.concerns()):
        subject = _first_of(simulation.world, concern)
        coming: Next | None = None
        remedies: Sequence[Remedy] | None = None
        if subject is not None and number < _MOST_TRIED:
            coming = _coming(simulation, subject)
            remedies = trials.of(concern, _items_of(simulation.world, subject))
        is_useful = concern.remedy and remedies != []  # as far as trials have shown
        told = [] if subject is None else _explained(simulation, subject)
        explained = tuple(with_advice(simulation, told, [concern] if is_useful else []))
        found.append(Answer(simulation, concern.items, explained, coming, concern, remedies))
    return found


def _explained(simulation: Simulation, subject: Subject) -> Sequence[Explanation]:
    world, (kind, row, job) = simulation.world, subject
    if kind in ("preparation", "release"):
        why = why_preparation if kind == "preparation" else why_release
        return [why(world, world.jobs[job], row)]
    return explain(simulation, *_key_of(world, subject))


def _key_of(world: World, subject: Subject) -> tuple[str, int | str]:
    """Return the kind of a thing and its key: the row of a task or node, else its id."""
    kind, row, _ = subject
    if kind in _RECORDS:
        return "job schedule" if kind == "schedule" else kind, _records(world, kind)[row].id
    return "task" if kind == "task" else "node", row


def _coming(simulation: Simulation, subject: Subject) -> Next | None:
    """Return what ends the wait of a thing if nobody intervenes; None if it waits for nothing, or nothing ends it."""
    if subject.kind in ("preparation", "release", "schedule"):
        return None
    found = expected(simulation, *_key_of(simulation.world, subject))
    return found if found is not None and found.rule else None  # without a rule nothing changes


def _items_of(world: World, subject: Subject) -> Items:
    kind, row, job = subject
    if kind in _RECORDS:
        return Items.of_kind("job schedule" if kind == "schedule" else kind, _records(world, kind)[row].id)
    if kind == "task":
        return Items(tasks=(row,), jobs=(world.jobs[world.tasks.block_of(row).job].id,))
    return Items(nodes=(row,), jobs=() if job < 0 else (world.jobs[job].id,))


def _first_of(world: World, concern: Finding) -> Subject | None:
    """Return the first item of a concern."""
    items, about = concern.items, concern.about
    job = world.jobs.find(items.jobs[0]) if items.jobs else None
    if items.tasks and about != "job":
        return Subject("task", items.tasks[0])
    if items.nodes and about != "job":
        is_hook = about in ("preparation", "release") and job is not None
        return Subject(about if is_hook else "node", items.nodes[0], job.row if is_hook and job is not None else -1)
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
