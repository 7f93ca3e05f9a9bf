"""The files of an import: what it reads, the scenario that it writes, and what all imports have in common.

Files are read plain or packed with gzip, with mistakes at their places. The result of every import is the document of
a scenario with the assumptions that it needed. It has ids that Batch allows, made of names that it does not allow
(GEN-1), and for a log or workflow a pool whose nodes are there from the start. It is written in lines, so that long
lists need no memory. Of what the service has returned, the body that creates the same thing is made (``created``).
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, cast

from pydantic import ValidationError

from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.values import DAY_MS, SECOND_MS, printable, shortened, value_at
from engine.rules.decisions.capacity import MAX_COMMUNICATING
from engine.scenario.bodies import fields_of, mistake_text, model_of
from engine.scenario.document import Path, format_path
from engine.scenario.record import block_lines
from engine.specs.account import PoolAllocationMode, Quotas
from engine.specs.base import Spec, has_effect, is_secret
from engine.specs.bodies import (
    JobConstraints,
    JobManagerTask,
    JobPreparationTask,
    JobReleaseTask,
    JobSpec,
    MultiInstanceSettings,
    PoolSpec,
    PreparationConstraints,
    StartTask,
    TaskConstraints,
    TaskSchedulingPolicy,
    TaskSpec,
)
from engine.views.diagnosis.model import some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engine.base.terms import Plain


STDIN = "-"
LINE_LIMIT = 4_096
"""The most bytes of a line. Longer ones are no log, and could fill the memory."""

_GZIP = b"\x1f\x8b"
_DAMAGED = "its packed content is damaged: get the file again"
_REASONS: dict[type[Exception], str] = {
    EOFError: "ends in the middle of its packed content: get the file again",
    gzip.BadGzipFile: _DAMAGED,
    zlib.error: _DAMAGED,
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "is a directory: name a file",
    PermissionError: "may not be read: permission denied",
}


def name_of(path: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if path == STDIN else shortened(path, 200)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked if it is packed with gzip; ``-`` is standard input.

    Raises:
        ScenarioError: It cannot be read, or its packed content is damaged.
    """
    try:
        with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as stream:
            if stream.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield stream
    except (EOFError, OSError, ValueError, zlib.error) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        _fail(path, _REASONS.get(type(error), reason))


def numbered_lines(stream: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1. Raises ScenarioError for one that no log has."""
    for number, content in enumerate(iter(lambda: stream.readline(LINE_LIMIT + 1), b""), start=1):
        if len(content) > LINE_LIMIT:
            _fail(path, f"has more than {LINE_LIMIT:,} bytes: this is no log", number)
        if b"\0" in content:
            _fail(path, "has a zero byte: this is a binary file", number)
        yield number, content.rstrip(b"\r\n")


def readable(text: str) -> str:
    """Return text with a replacement for each half of a surrogate pair, which cannot be written to a file."""
    return text.encode("utf-8", "replace").decode()


def _fail(path: str, message: str, line: int = 0) -> NoReturn:
    raise ScenarioError([Problem(message, "", line, 1 if line else 0, name_of(path))]) from None


LONGEST_ID = 64
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_LONGEST_SUFFIX = 8
_DIGITS = 8  # of the hash that tells shortened names apart


def batch_id(name: str) -> str:
    """Return an id that is as similar to the name as Batch allows."""
    text = _NOT_ALLOWED.sub("-", name).strip("-") or "unnamed"
    if len(text) <= LONGEST_ID:
        return text
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: LONGEST_ID - _DIGITS - 1]}-{digest}"


def file_name(name: str) -> str:
    """Return a name for a file that is as similar as a file, a blob and a pattern allow."""
    stem, dot, suffix = name.rpartition(".")
    is_suffix = bool(stem) and len(suffix) <= _LONGEST_SUFFIX and not _NOT_ALLOWED.search(suffix)
    return f"{batch_id(stem)}{dot}{suffix}" if is_suffix else batch_id(name)


def batch_ids(names: Iterable[str], make: Callable[[str], str] = batch_id) -> dict[str, str]:
    """Return a different id for each name. A name that is an id already keeps it, unless another differs by case.

    ``make`` makes the id of one name.
    """
    every = list(dict.fromkeys(names))
    wanted = {name: make(name) for name in every}
    found: dict[str, str] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last one that an id of this beginning has got
    for name in sorted(every, key=lambda one: wanted[one] != one):
        text = wanted[name]
        while text.casefold() in taken:
            key = wanted[name].casefold()
            numbers[key] = numbers.get(key, 1) + 1
            ending = f"-{numbers[key]}"
            text = wanted[name][: LONGEST_ID - len(ending)] + ending
        taken.add(text.casefold())
        found[name] = text
    return {name: found[name] for name in every}


class Imported(NamedTuple):
    """A scenario made of what really happened.

    ``document`` has the sections of a scenario file, in order, as plain data; long lists may be iterators, which are
    read once. Each of the ``assumptions`` becomes one comment line of the written file. ``warnings`` are about what
    was left out. Mistakes are raised instead, all of them in one ``ScenarioError``.
    """

    document: Mapping[str, object]
    assumptions: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()


class PoolShape(NamedTuple):
    """The nodes and task slots per node that a pool is to have; None leaves it to the source."""

    nodes: int | None = None
    slots: int | None = None


POOL = "cluster"
SLOT_LIMIT = 256
"""The most task slots of a node, of any size (ACC-5)."""

GANG_NODE_LIMIT = MAX_COMMUNICATING[PoolAllocationMode.BATCH_SERVICE]
"""The most nodes of a pool that has multi-instance tasks (ACC-5)."""

LATEST_MS = 99 * 366 * DAY_MS
"""The latest end of a run: a scenario has no times beyond a century."""

_MISTAKE_LIMIT = 100
_CORES = (2, 4, 8, 16, 32, 48, 64)


class Machines(NamedTuple):
    """Nodes and their task slots; ``gangs`` is true if multi-instance tasks run on them, which need single slots."""

    nodes: int
    slots: int
    gangs: bool = False

    @property
    def widest(self) -> int:
        """The most processors that one task can have."""
        return self.nodes if self.gangs else self.slots

    @property
    def cores(self) -> int:
        """The cores of a node: one per slot, as far as there is such a size."""
        return 1 if self.slots == 1 else next((cores for cores in _CORES if cores >= self.slots), _CORES[-1])

    @property
    def vm_size(self) -> str:
        """The VM size of a node."""
        return "standard_d1_v2" if self.cores == 1 else f"standard_d{self.cores}s_v3"

    def account(self) -> dict[str, object]:
        """Return the account of a scenario, with quotas for the nodes; empty if the default ones are enough."""
        needed = self.nodes * self.cores
        return {} if needed <= Quotas().dedicated_cores else {"account": {"quotas": {"dedicatedCores": needed}}}

    @property
    def assumption(self) -> str:
        """The sentence that states them as an assumption."""
        nodes, slots = some(self.nodes, "node"), some(self.slots, "task slot")
        return f"Assumed: a pool of {nodes} with {slots} each, which are ready at the start."

    def pool(self) -> dict[str, object]:
        """Return the body of the pool."""
        body: dict[str, object] = {
            "id": POOL,
            "vmSize": self.vm_size,
            "targetDedicatedNodes": self.nodes,
            "taskSlotsPerNode": self.slots,
        }
        if self.gangs:
            body["enableInterNodeCommunication"] = True
        if self.slots > 1:
            body["taskSchedulingPolicy"] = {"nodeFillType": "pack"}
        return body


NODES_ARE_READY: dict[str, object] = {"nodes": dict.fromkeys(("allocation", "starting", "ready", "removal"), 0)}
"""The ``simulate`` of a scenario in which nodes come and go at once."""


def emptying(job_id: str) -> dict[str, object]:
    """Return the entry of a timeline that empties the pool when a job is completed."""
    return {"when": {"jobId": job_id, "state": "completed"}, "resizePool": {"poolId": POOL, "targetDedicatedNodes": 0}}


def seconds_of(ms: int) -> float:
    """Return seconds, a whole number without a point."""
    return ms // SECOND_MS if ms % SECOND_MS == 0 else ms / SECOND_MS


class Mistakes:
    """The mistakes of a file that is read to its end, and warnings about it."""

    def __init__(self, file: str) -> None:
        self.file = name_of(file)
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def report(self, message: str, path: str = "", line: int = 0) -> None:
        """Keep a mistake. Raises ScenarioError if there are too many."""
        self.problems.append(Problem(message, path, line, min(line, 1), self.file))
        if len(self.problems) >= _MISTAKE_LIMIT:
            self.fail()

    def warn(self, message: str, line: int = 0) -> None:
        """Keep a warning about a line, or about the file."""
        self.warnings.append(Problem(message, "", line, min(line, 1), self.file, severity=Severity.WARNING))

    def refuse(self, message: str, line: int = 0) -> NoReturn:
        """Raise ScenarioError for a mistake after which nothing can be read, and all others."""
        self.problems.append(Problem(message, "", line, min(line, 1), self.file))
        self.fail()

    def check(self) -> None:
        """Raise ScenarioError if there are mistakes."""
        if self.problems:
            self.fail()

    def fail(self) -> NoReturn:
        """Raise ScenarioError for all mistakes."""
        raise ScenarioError(self.problems, self.warnings)


_LISTS_OF_ITEMS = ("tasks", "timeline")
"""Keys of lists that may be long: each item is one line."""


def scenario_lines(imported: Imported) -> Iterator[str]:
    """Yield the lines of a scenario file, without line ends; the first ones are the assumptions, as comments."""
    for assumption in imported.assumptions:
        # YAML allows no control characters in a comment.
        yield from (("# " + printable(line, "\ufffd")).rstrip() for line in assumption.splitlines() or [""])
    if imported.assumptions:
        yield ""
    yield from block_lines(cast("Plain", dict(imported.document)), rows=_LISTS_OF_ITEMS)


# Those whose defaults a scenario leaves out.
_WITH_DEFAULTS: frozenset[type[Spec]] = frozenset(
    {
        *(PoolSpec, JobSpec, TaskSpec, StartTask, JobManagerTask, JobPreparationTask, JobReleaseTask),
        *(MultiInstanceSettings, TaskConstraints, PreparationConstraints, JobConstraints, TaskSchedulingPolicy),
    }
)
# The first names a node of the original run; the second is made of what really happened.
_LEFT_OUT = frozenset({"affinityInfo", "simulate"})


def created(body: Mapping[str, Any], model: type[Spec]) -> dict[str, Any]:
    """Return the body that creates the thing.

    It has neither what only the service writes, nor what a scenario does not know or what changes nothing in it, nor
    defaults.
    """
    properties, defaults = _properties(model), _defaults(model)
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name not in properties or (name in defaults and value == defaults[name]):
            continue
        inner = properties[name]
        new = value if inner is None else _inside(value, inner)
        if new != [] and (new != {} or value == {}):
            kept[name] = new
    for name, field in fields_of(model).items():
        if field.is_required() and is_secret(field):
            kept.setdefault(name, "")
    return kept


@cache
def _properties(model: type[Spec]) -> dict[str, type[Spec] | None]:
    """Return the properties that creating a thing takes and that have an effect, with the models of their values."""
    return {
        name: model_of(field)
        for name, field in fields_of(model).items()
        if has_effect(field) and name not in (*model.SERVICE_NAMES, *_LEFT_OUT) and not name.startswith("current")
    }


def _inside(value: Any, model: type[Spec]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [created(inner, model) if isinstance(inner, dict) else inner for inner in value]
    return created(value, model) if isinstance(value, dict) else value


@cache
def _defaults(model: type[Spec]) -> dict[str, Any]:
    if model not in _WITH_DEFAULTS:
        return {}
    required = {name for name, field in fields_of(model).items() if field.is_required()}
    return {name: value for name, value in model.model_construct().wire().items() if name not in required}


_LATER = frozenset({"enum", "literal_error"})  # words that a newer version of the service may have
_ROUNDS = 100
_TEXTS = frozenset({"id", "commandLine"})  # whose values are any text
_MOST_VALID = 10_000


def conform(body: dict[str, Any], model: type[Spec], valid: set[str]) -> Iterator[tuple[str, Path]]:
    """Remove the values that the model of a body does not allow; yield what is wrong with each, and its path.

    Only those count that belong to what creates the thing. ``valid`` are the values that were found to be right: most
    tasks differ in nothing but texts.
    """
    values = {name: body[name] for name in _properties(model).keys() & body.keys()}
    others = repr([each for each in sorted(values.items()) if each[0] not in _TEXTS or not isinstance(each[1], str)])
    if others in valid:
        return

    def problems() -> list[Problem]:
        try:
            model.from_wire(created(body, model))
        except ValidationError as error:
            mistakes = [details for details in error.errors(include_url=False) if details["type"] not in _LATER]
            return [Problem(mistake_text(details), format_path(details["loc"])) for details in mistakes]
        return []

    is_valid = True
    with suppress(ScenarioError):  # of something that cannot be removed
        for problem, path, _ in without_mistakes(body, problems, least=1):
            is_valid = False
            yield problem.message, path
    if is_valid and len(valid) < _MOST_VALID:
        valid.add(others)


_STEP = re.compile(r'\[(?P<index>\d+)\]|\["(?P<quoted>[^"]*)"\]|\.?(?P<name>[A-Za-z_$][\w$-]*)')


def without_mistakes(
    document: dict[str, Any],
    problems: Callable[[], Sequence[Problem]],
    needed: Collection[str] = (),
    stand_in: Callable[[str, object], object | None] = lambda _name, _value: None,
    least: int = 3,
) -> Iterator[tuple[Problem, Path, object | None]]:
    """Remove from a document what a scenario cannot have; yield each mistake with the path of what was removed.

    Args:
        document: The document.
        problems: Returns the mistakes in it.
        needed: The names of what stays, and of the lists whose items stay: something around or within it has to go.
        stand_in: Returns the value that takes the place of one of this name, which is yielded too; None to remove it.
        least: The fewest steps to what can be removed: with 3 no section of a scenario is, and no entry of one.

    Raises:
        ScenarioError: Something that is needed cannot be accepted.
    """
    for _ in range(_ROUNDS):
        found = problems()
        if not found:
            return
        first = {problem.path: problem for problem in reversed(found)}  # the last one first, as items may be removed
        taken = [
            (problem, *done)
            for problem in first.values()
            if (done := _taken_out(document, problem, needed, stand_in, least))
        ]
        if not taken:
            raise ScenarioError(list(found))
        yield from reversed(taken)
    raise ScenarioError(list(problems()))


def _taken_out(
    document: dict[str, Any],
    problem: Problem,
    needed: Collection[str],
    stand_in: Callable[[str, object], object | None],
    least: int,
) -> tuple[Path, object | None] | None:
    """Remove or replace the value at the path of a mistake, or the nearest one around it that is not needed."""
    matches = _STEP.finditer(problem.path)
    steps = tuple(int(step["index"]) if step["index"] else step["quoted"] or step["name"] for step in matches)
    for length in range(len(steps), least - 1, -1):
        *way, last = steps[:length]
        place: Any = value_at(document, *way)
        if not (last in place if isinstance(place, dict) else isinstance(place, list) and last in range(len(place))):
            continue
        instead = stand_in(str(last), place[last])
        if instead is not None:
            place[last] = instead
        elif (way[-1] if isinstance(place, list) else last) not in needed:
            del place[last]
        else:
            continue
        return steps[:length], instead
    return None
