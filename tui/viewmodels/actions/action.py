"""The definition of an action: the rows it is for, its form, its command, and its effects.

The fields of a form have labels, help, and the conversion between what is typed and a property of a body. Many tasks
are one description in a form, with how many of it there are. Cautions about a new job name what the service accepts,
though it is probably not meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args, get_origin

from pydantic.fields import FieldInfo

from engine.base.terms import OnAllTasksComplete, Plain, PoolState, WireOption
from engine.base.values import format_duration, quoted, value_at
from engine.scenario.bodies import fields_of, model_of
from engine.scenario.record import flow_text
from engine.scenario.tree import parse_value
from engine.specs.account import ApplicationPackageReference
from engine.specs.base import Distribution, Spec, is_duration
from engine.specs.bodies import TaskSpec
from engine.specs.commands import COMMANDS
from engine.specs.common import CertificateReference
from engine.specs.pool_refusals import AccountInForce
from engine.views.resources.jobs import pool_ids, users_pool_ids
from tui.viewmodels.format import duration_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.viewmodels.session import Session


T = TypeVar("T")
Body = Mapping[str, object]


# -- what is typed, and the value that it means


def whole(text: str) -> int:
    """Return the number that was typed. Raises ValueError with a sentence."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} must be a whole number") from None


def duration(text: str) -> str:
    """Return a duration such as 2m, 90s, 1h30m, PT2M or 00:02:00 as ISO 8601. Raises ValueError with a sentence."""
    return format_duration(duration_ms(text))


def duration_or_value(text: str) -> Plain:
    """Return a duration, or a distribution such as {normal: [PT2M, PT10S]}. Raises ValueError with a sentence."""
    return value(text) if text.lstrip().startswith(("{", "[")) else duration(text)


def whole_or_value(text: str) -> Plain:
    """Return a number, or weights such as {0: 0.9, 1: 0.1}. Raises ValueError with a sentence."""
    return value(text) if text.lstrip().startswith("{") else whole(text)


def value(text: str) -> Plain:
    """Return a value in the flow style of YAML. Raises ValueError with a sentence."""
    tree, problems = parse_value(text)
    if tree is None or problems:
        raise ValueError(problems[0] if problems else "must be a value")
    return tree.plain


def yes_or_no(text: str) -> bool:
    """Return True for yes and False for no. Raises ValueError with a sentence."""
    if text.lower() not in ("yes", "no"):
        raise ValueError(f"{quoted(text)} must be yes or no")
    return text.lower() == "yes"


def words(text: str) -> list[Plain]:
    """Return the words that were typed, separated by blanks or commas."""
    return [*text.replace(",", " ").split()]


def packages(text: str) -> list[Plain]:
    """Return references to packages, typed as ``pricer 1.2, tools``."""
    parts = [part.split() for part in text.split(",") if part.strip()]
    return [dict(zip(("applicationId", "version"), part, strict=False)) for part in parts]


def thumbprints(text: str) -> list[Plain]:
    """Return references to certificates by their thumbprints, separated by blanks or commas."""
    return [{"thumbprint": each, "thumbprintAlgorithm": "sha1"} for each in text.replace(",", " ").split()]


def as_text(value: object) -> str:
    """Return a value of a body as it is typed."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case list() if all(isinstance(each, str) for each in value):
            return " ".join(value)
        case list() if all(isinstance(each, dict) and set(each) <= {"applicationId", "version"} for each in value):
            return ", ".join(" ".join(each.values()) for each in value)
        case list() if all(isinstance(each, dict) and "thumbprint" in each for each in value):
            return " ".join(each["thumbprint"] for each in value)
    return flow_text(value)  # type: ignore[arg-type]  # a value of a body is JSON


# -- properties of a body, by the names on the way to them


def property_at(body: Any, path: str) -> Any:  # noqa: ANN401 - a value of JSON
    """Return the property at a path such as ``jobPreparationTask.commandLine``, None if it is absent."""
    return value_at(body, *path.split("."))


def with_property(body: Body, path: str, value: object) -> dict[str, Any]:
    """Return the body with another value at a path; None removes the property, and what is empty without it."""
    name, _, rest = path.partition(".")
    if rest:
        inner = body.get(name)
        value = with_property(inner if isinstance(inner, dict) else {}, rest, value) or None
    if value is None:
        return {key: each for key, each in body.items() if key != name}
    return {**body, name: value}


# -- fields of a form


class InputKind(NamedTuple):
    """The input of a property: the conversion of a text, and the texts to choose from, if there are only a few."""

    read: Callable[[str], object] = str
    options: tuple[str, ...] = ()


_BY_CLASS: dict[type, InputKind] = {
    bool: InputKind(yes_or_no, ("yes", "no")),
    Distribution: InputKind(duration_or_value),
    ApplicationPackageReference: InputKind(packages),
    CertificateReference: InputKind(thumbprints),
}


@cache
def input_kind(command: str, name: str) -> InputKind:
    """Return how a property of a command is typed, by its type in the body of the command.

    ``name`` has the names on the way to it: ``jobReleaseTask.commandLine``, or ``task.id`` for one of its tasks.
    """
    path = name.split(".")
    model: type[Spec] = TaskSpec if path[0] == EACH else COMMANDS[command]
    found = FieldInfo()
    for part in path[path[0] == EACH :]:
        found = fields_of(model)[part]
        model = model_of(found) or model
    classes = list(_classes_in(found.annotation))
    if is_duration(found):
        return InputKind(duration)
    for one in classes:
        if one in _BY_CLASS:
            return _BY_CLASS[one]
        if issubclass(one, WireOption):
            return InputKind(options=tuple(each.value for each in one))
    if tuple in classes:
        return InputKind(words if str in classes else whole_or_value)
    return InputKind(whole if int in classes else str)


def _classes_in(annotation: object) -> Iterator[type]:
    """Yield the classes in an annotation such as ``tuple[TaskSpec, ...] | None``."""
    for each in (get_origin(annotation) or annotation, *get_args(annotation)):
        if isinstance(each, type):
            yield each
        elif each is not annotation:
            yield from _classes_in(each)


@dataclass(frozen=True)
class Field(Generic[T]):
    """A field of a form.

    ``name`` is the property that it sets, with the names of the bodies around it: ``jobReleaseTask.commandLine``.
    The type of the property says how it is typed, unless ``read`` and ``options`` do. ``read`` returns its value from
    what was typed; it raises ValueError with a sentence. An empty field is left out of the body. A field with options
    is chosen from with the arrow keys; without a default, the first one is empty and leaves the service's.
    """

    name: str
    label: str
    hint: str = ""
    default: str | Callable[[T], str] = ""
    read: Callable[[str], object] | None = None
    options: Callable[[Session], Sequence[str]] | None = None
    section: str = ""  # the heading above it, if it is the first field there
    is_required: bool = False
    about: Callable[[str], str] = lambda _: ""  # a sentence about what was typed

    def options_in(self, command: str, session: Session) -> tuple[str, ...]:
        """Return the texts that are chosen from in the form of a command; empty if the text is typed."""
        if self.options is not None or self.read is not None:
            return tuple(self.options(session)) if self.options is not None else ()
        known = input_kind(command, self.name).options
        first = self.default if isinstance(self.default, str) else ""
        return tuple(dict.fromkeys((first, *known))) if known else ()

    def default_for(self, row: T) -> str:
        """Return the text of the field at first, in the form for a row."""
        return self.default(row) if callable(self.default) else self.default

    def text_in(self, body: Body) -> str:
        """Return the text of the field for a body."""
        return as_text(property_at(body, self.name))

    def put_into(self, body: Body, text: str, command: str) -> dict[str, Any]:
        """Return the body of a command with what was typed. Raises ValueError with a sentence."""
        read = self.read or input_kind(command, self.name).read
        return with_property(body, self.name, read(text.strip()) if text.strip() else None)


# -- fields of more than one form

AnyField = Field[Any]

DURATION = "90s, 2m, 1h30m or PT2M"
"""Examples of durations, for the hints of fields."""


def file_to_delete(where: str, first: str) -> tuple[AnyField, ...]:
    """Return the fields for a file or directory to delete; ``where`` says below what its path is."""
    return (
        Field("filePath", "Path", where, first, is_required=True),
        Field("recursive", "Recursive", "yes to delete a directory that is not empty", "no", options=lambda _: ()),
    )


ID = Field[Any]("id", "Id", "letters, digits, - and _; at most 64", is_required=True)
DISPLAY_NAME = Field[Any]("displayName", "Display name", "shown by the portal; anything")


class Better(NamedTuple):
    """Another action that suits a row better: its command, and the reason."""

    command: str
    why: str


Caution = tuple[str, str]
"""A property of a body, and a sentence about what it probably should not be."""


class Document(NamedTuple):
    """The body of a command, which a form shows in part and an editor as a whole if it ``is_editable``.

    ``start`` is the body to begin with. Of a body that changes something only the properties that differ from it are
    sent if ``is_patch``. ``unfold`` puts a body into the form whose properties the fields name, ``fold`` back.
    ``cautions`` returns what the service accepts in a body, though it is probably not meant.
    """

    start: Body
    is_editable: bool = True
    is_patch: bool = False
    unfold: Callable[[Body], Body] = lambda body: body
    fold: Callable[[Body], Body] = lambda body: body
    account: AccountInForce | None = None  # for what the service would refuse in a pool
    cautions: Callable[[Body], Sequence[Caution]] = lambda _: ()


@dataclass(frozen=True)
class ActionType(Generic[T]):
    """An action on rows of one kind. ``{}`` in the title stands for the name of the row."""

    title: str
    command: str
    effects: tuple[str, ...] | Callable[[T], Sequence[str]] = ()
    fields: tuple[Field[T], ...] = ()
    document: Callable[[T, Session], Document] | None = None  # the body, if it can be written as a whole
    adds: Callable[[T], Body] = lambda _: {}  # part of the body that nobody types
    counts: Callable[[T], Mapping[str, int]] = lambda _: {}  # affected items; added up over all rows
    unavailable: Callable[[T], str] = lambda _: ""  # why the service would refuse it now
    offered: Callable[[T], bool] = lambda _: True
    better: Callable[[T], Better | None] = lambda _: None
    cannot_be_undone: bool = False
    asks_for_id: bool = False  # the user confirms by typing the id; of several rows, their number
    asks_for_count: bool = False  # the user confirms several rows by typing their number
    opens_formula: bool = False  # the formula editor takes the place of the form
    is_for_many: bool = False  # offered for several rows, although the body is that of the first one

    def document_for(self, row: T, session: Session) -> Document:
        """Return the body to begin with; that of a command whose body is not edited has the defaults of the fields."""
        if self.document is not None:
            return self.document(row, session)
        start: Body = {}
        for field in self.fields:
            start = field.put_into(start, field.default_for(row), self.command)
        return Document(start, is_editable=False)


_RUNNING = {
    "requeue": "they are stopped and queued again",
    "terminate": "they are stopped for good",
    "taskcompletion": "no new ones start; it is done when they have ended",
    "retaineddata": "deprecated: it is done when their files are no longer kept",
    "wait": "they continue; no new ones start",
}


def running_tasks(name: str) -> AnyField:
    """Return the field for the property that says what happens to running tasks."""
    said = "what happens to them"
    return Field(name, "Running tasks", said, "requeue", about=lambda text: _RUNNING.get(text, ""))


LASTING = (Field[Any]("for", "Lasts", f"until somebody repairs it if empty; {DURATION}", "PT10M"),)
"""The duration of a fault."""


_NUMBER = "{0}"  # stands for the task's number in a factory
COUNT = "count"  # how many tasks like the one that is described
EACH = "task"  # one of them
FIRST_ID = "task"  # of the tasks that a new job begins with, unless another id is typed


def unfold_tasks(body: Body, *, needs_one: bool = False) -> Body:
    """Return a body with its one task, or the tasks of its factory, as a description and a count.

    With ``needs_one`` a body without tasks describes one of which nothing is known yet.
    """
    rest = {name: value for name, value in body.items() if name not in ("tasks", "taskFactory")}
    listed, factory = body.get("tasks"), body.get("taskFactory")
    if isinstance(listed, list) and len(listed) == 1 and factory is None:
        return rest | {EACH: listed[0], COUNT: 1}
    if not listed and isinstance(factory, Mapping):
        sets, task = factory.get("parameterSets"), factory.get("repeatTask")
        is_plain = set(factory) <= {"type", "parameterSets", "repeatTask"}
        stem = str(property_at(task, "id") or "")
        if is_plain and isinstance(task, Mapping) and isinstance(sets, list) and stem.count(_NUMBER) == 1:
            only = sets[0] if len(sets) == 1 else None
            if isinstance(only, Mapping) and set(only) == {"start", "end"} and only["start"] == 1:
                return rest | {EACH: {**task, "id": stem.removesuffix(f"-{_NUMBER}")}, COUNT: only["end"]}
    return {**body, EACH: {}, COUNT: 1} if needs_one and rest == body else body


def fold_tasks(body: Body, default_id: str = "") -> Body:
    """Return a body with the task that it describes, or a factory of ``count`` of them, by default with this id."""
    described = body.get(EACH)
    rest = {name: value for name, value in body.items() if name not in (EACH, COUNT)}
    count = body.get(COUNT, 1)
    task = described if isinstance(described, Mapping) else {}
    if count == 1 and not set(task) - {"id"}:
        return rest
    stem = str(task.get("id", default_id))
    task = {"id": stem, **task} if stem else task
    if count == 1:
        return rest | {"tasks": [task]}
    factory = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": count}],
        "repeatTask": {**task, "id": stem if _NUMBER in stem else f"{stem}-{_NUMBER}"},
    }
    return rest | {"taskFactory": factory}


def pools(session: Session) -> Sequence[str]:
    """Return the ids of all pools, to choose from."""
    return pool_ids(session.simulation)


def pool_for_jobs(session: Session) -> str:
    """Return the pool to propose for a job: the one in focus, or the newest one with nodes if that gets none."""
    pools = users_pool_ids(session.simulation)
    with_nodes = [pool_id for pool_id in pools if _gets_nodes(session, pool_id)]
    if session.pool_id in (with_nodes or pools):
        return session.pool_id
    return (with_nodes or pools or [""])[-1]


def cautions_about_job(body: Body, prefix: str = "") -> list[Caution]:
    """Return the cautions about a job, or about the jobs of a schedule if their properties follow ``prefix``."""
    release = f"{prefix}jobReleaseTask.commandLine"
    if property_at(body, release) is None or _ends_by_itself(body, prefix):
        return []
    return [(release, "the release task never runs unless a user ends the job; choose terminatejob above (JOB-7)")]


def _ends_by_itself(body: Body, prefix: str) -> bool:
    on_complete = property_at(body, f"{prefix}onAllTasksComplete")
    manager = property_at(body, f"{prefix}jobManagerTask")
    return (
        str(on_complete).lower() == OnAllTasksComplete.TERMINATE_JOB.value
        or property_at(body, f"{prefix}constraints.maxWallClockTime") is not None
        or (isinstance(manager, Mapping) and manager.get("killJobOnCompletion") is not False)
        or "terminateJob" in json.dumps(body)  # a process of the job gives the command (JM-11)
    )


def _gets_nodes(session: Session, pool_id: str) -> bool:
    """Return whether a pool has nodes, or will have some unless they cannot be allocated."""
    pool = session.pool(pool_id)
    if pool is None or pool.state is not PoolState.ACTIVE:
        return False
    return bool(pool.nodes or pool.target_dedicated or pool.target_spot or pool.record.auto_scale)
