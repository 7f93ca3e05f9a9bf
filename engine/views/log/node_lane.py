"""The activity of one node over time, read from its entries of the log.

Its tasks lie side by side in tracks: tasks that run at the same time are in different tracks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY, WIPED_IN, Availability, states_in
from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.views.hook_status import Hook

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from engine.base.log import Shape


class Activity(Enum):
    """The activity of a node."""

    ABSENT = auto()  # not in its pool yet, or no longer
    CHANGING = auto()  # neither idle nor running: its state says what
    IDLE = auto()
    INELIGIBLE = auto()  # idle, and gets no tasks of some job: its preparation has failed (PREP-9)
    PREPARING = auto()
    RETRYING = auto()  # preparation, not the first attempt (PREP-12)
    WORKING = auto()
    RELEASING = auto()
    FAILED = auto()  # lasts no time: preparation or start task failed, or the node did
    RELEASE_FAILED = auto()  # lasts no time


class Stretch(NamedTuple):
    """An activity from ``begin_ms`` on, until the next one begins; ``state`` is the node's own."""

    begin_ms: int
    activity: Activity
    state: NodeState | None


_NOWHERE = Stretch(0, Activity.ABSENT, None)
# Activities that are drawn however short they were, the most important first.
_ALWAYS_SHOWN = (
    Activity.FAILED,
    Activity.RELEASE_FAILED,
    Activity.RETRYING,
    Activity.PREPARING,
    Activity.RELEASING,
)
_FAILED_STATES = states_in(Availability.FAILED, Availability.OUT_OF_REACH)


class Step(Enum):
    """The effect of a log entry on a node."""

    STATE = auto()
    TASK_BEGINS = auto()
    TASK_ENDS = auto()
    HOOK = auto()  # preparation or release begins or ends
    JOB_CHANGES = auto()  # of state, after which nodes are eligible again


class Meaning(NamedTuple):
    """The effect that all entries of one shape have on a node."""

    step: Step
    state: NodeState | JobState | None = None
    has_failed: bool = False
    is_final_failure: bool = False  # of preparation: the node is ineligible for the job (PREP-9)
    is_task: bool = False  # rather than a subtask (MI-7)
    has_task_failed: bool = False  # the attempt ends the task as a failure
    hook: Hook | None = None
    is_begin: bool = False  # of preparation or release
    stops_hooks: bool = False  # interrupts preparation and release on the node


_HOOKS = {"JobPreparationTaskStateChanged": Hook.PREPARATION, "JobReleaseTaskStateChanged": Hook.RELEASE}


def meaning_of(shape: Shape) -> Meaning | None:
    """Return the effect of entries of a shape on a node; None where they have none."""
    fields = dict(shape.fields)
    old, new = fields.get("from"), fields.get("to")
    match shape.event:
        case "NodeStateChanged":
            state = new if isinstance(new, NodeState) else None
            return Meaning(Step.STATE, state, has_failed=state in _FAILED_STATES, stops_hooks=state not in READY)
        case "TaskStateChanged" | "SubtaskStateChanged" if TaskState.RUNNING in (old, new):
            step = Step.TASK_BEGINS if new == TaskState.RUNNING else Step.TASK_ENDS
            has_failed = fields.get("result") is TaskResult.FAILURE
            return Meaning(step, is_task=shape.event == "TaskStateChanged", has_task_failed=has_failed)
        case "JobStateChanged":
            return Meaning(Step.JOB_CHANGES, new if isinstance(new, JobState) else None)
        case event if event in _HOOKS:
            has_failed = fields.get("result") is TaskResult.FAILURE
            is_begin, is_final = new is InstanceState.RUNNING, fields.get("rule") == "PREP-9"
            return Meaning(Step.HOOK, None, has_failed, is_final, hook=_HOOKS[event], is_begin=is_begin)
    return None


class Lane:
    """The stretches of one node in order; it reads on where it stopped when the log has grown."""

    def __init__(self, eligible_again_in: Collection[NodeState] = WIPED_IN) -> None:
        """Create an empty lane; the states ``eligible_again_in`` end a node's ineligibility (PREP-17)."""
        self._eligible_again_in = eligible_again_in
        self.begins = array("q")  # when each stretch began
        self.stretches: list[Stretch] = []
        self.read = 0  # entries of this node that have been read
        self._state: NodeState | None = None
        self._tasks = 0
        self._preparing: dict[int, bool] = {}  # job -> whether it is a retry
        self._releasing: set[int] = set()
        self._ineligible_for: set[int] = set()

    def take(self, when_ms: int, meaning: Meaning, row: int) -> None:
        """Take the next entry: its meaning, and the job or task that it is about."""
        if meaning.step is Step.TASK_BEGINS:
            self._tasks += 1
            if self._tasks > 1:  # the node was working already
                return
        elif meaning.step is Step.TASK_ENDS:
            self._tasks -= 1
            if self._tasks > 0:
                return
        else:
            self._change(meaning, row)
        if meaning.has_failed:
            is_release = meaning.hook is Hook.RELEASE
            self._add(Stretch(when_ms, Activity.RELEASE_FAILED if is_release else Activity.FAILED, self._state))
        activity = self._activity()
        last = self.stretches[-1] if self.stretches else _NOWHERE
        if activity is not last.activity or self._state is not last.state:
            self._add(Stretch(when_ms, activity, self._state))

    def _change(self, meaning: Meaning, row: int) -> None:
        match meaning.step:
            case Step.HOOK if meaning.hook is Hook.RELEASE:
                (self._releasing.add if meaning.is_begin else self._releasing.discard)(row)
            case Step.HOOK if meaning.is_begin:
                self._preparing[row] = row in self._preparing
            case Step.HOOK:
                self._preparing.pop(row, None)
                if meaning.is_final_failure:
                    self._ineligible_for.add(row)
            case Step.JOB_CHANGES:
                self._ineligible_for.discard(row)
            case Step.STATE:
                self._enter(meaning.state if isinstance(meaning.state, NodeState) else None)

    def _add(self, stretch: Stretch) -> None:
        self.begins.append(stretch.begin_ms)
        self.stretches.append(stretch)

    def _enter(self, state: NodeState | None) -> None:
        self._state = state
        if state not in READY:
            self._preparing.clear()
            self._releasing.clear()
        if state in self._eligible_again_in:
            self._ineligible_for.clear()

    def _activity(self) -> Activity:
        if self._state is None:
            return Activity.ABSENT
        if self._state not in READY:
            return Activity.CHANGING
        if self._preparing:
            return Activity.RETRYING if any(self._preparing.values()) else Activity.PREPARING
        if self._tasks > 0:
            return Activity.WORKING
        if self._releasing:
            return Activity.RELEASING
        return Activity.INELIGIBLE if self._ineligible_for else Activity.IDLE

    # -- queries -------------------------------------------------------------------------------------------------

    def at(self, when_ms: int) -> Stretch:
        """Return the activity of the node at a moment."""
        number = bisect_right(self.begins, when_ms)
        return self.stretches[number - 1] if number else _NOWHERE

    def has_begun(self, when_ms: int) -> bool:
        """Return whether the node was in its pool at a moment or before."""
        return bool(self.begins) and self.begins[0] <= when_ms

    @property
    def has_left(self) -> bool:
        """True if the node has left its pool at the end of what has been read."""
        return bool(self.stretches) and self.stretches[-1].activity is Activity.ABSENT

    def until_ms(self, when_ms: int) -> int | None:
        """Return the end of the stretch of this moment; None while it lasts."""
        number = bisect_right(self.begins, when_ms)
        return self.begins[number] if number < len(self.begins) else None

    def lasting(self, when_ms: int, activities: Collection[Activity]) -> tuple[int, int | None]:
        """Return begin and end of the stretches around a moment that have these activities without a break.

        The end is None while they last.
        """
        first = last = bisect_right(self.begins, when_ms) - 1
        while first > 0 and self.stretches[first - 1].activity in activities:
            first -= 1
        while last < len(self.begins) and self.stretches[last].activity in activities:
            last += 1
        return self.begins[first], self.begins[last] if last < len(self.begins) else None

    def shown(self, begin_ms: int, end_ms: int) -> Stretch:
        """Return the activity that filled most of a time; a failure, preparation or release that began there wins."""
        number = bisect_right(self.begins, begin_ms - 1)
        if number == len(self.begins) or self.begins[number] >= end_ms:  # one stretch fills all of it
            return self.stretches[number - 1] if number else _NOWHERE
        filled: dict[Activity, int] = {}
        last: dict[Activity, Stretch] = {}
        present = self.stretches[number - 1] if number else _NOWHERE
        from_ms = begin_ms
        while True:
            is_last = number == len(self.begins) or self.begins[number] >= end_ms
            to_ms = end_ms if is_last else self.begins[number]
            filled[present.activity] = filled.get(present.activity, 0) + to_ms - from_ms
            last[present.activity] = present
            if is_last:
                break
            present, from_ms, number = self.stretches[number], to_ms, number + 1
            if present.activity in _ALWAYS_SHOWN:
                filled[present.activity] = end_ms * (len(_ALWAYS_SHOWN) - _ALWAYS_SHOWN.index(present.activity))
        return last[max(filled, key=filled.__getitem__)]


_OPEN_MS = -1


class TaskSpan(NamedTuple):
    """A task's time on a node; it still runs without ``end_ms``."""

    begin_ms: int
    end_ms: int | None
    task: int
    has_failed: bool


class _Track:
    def __init__(self) -> None:
        self.begins = array("q")
        self.ends = array("q")
        self.tasks = array("q")
        self.failed: set[int] = set()  # places

    def spans(self, begin_ms: int, end_ms: int) -> list[TaskSpan]:
        last = bisect_left(self.begins, end_ms)
        first = max(0, bisect_right(self.begins, begin_ms) - 1)
        return [
            TaskSpan(
                self.begins[at], None if self.ends[at] == _OPEN_MS else self.ends[at], self.tasks[at], at in self.failed
            )
            for at in range(first, last)
            if self.ends[at] == _OPEN_MS or self.ends[at] > begin_ms
        ]


class TaskTracks:
    """The tracks of one node; it reads on where it stopped when the log has grown."""

    def __init__(self) -> None:
        self.read = 0  # entries of the node that have been read
        self._tracks: list[_Track] = []
        self._running: dict[int, list[int]] = {}  # task -> its tracks

    def take(self, entries: Iterable[tuple[int, Meaning, int]]) -> None:
        """Take further entries: moment, meaning, and the task that it is about."""
        for when_ms, meaning, task in entries:
            self.read += 1
            if meaning.step is Step.TASK_BEGINS:
                self._begin(when_ms, task)
            elif meaning.step is Step.TASK_ENDS and self._running.get(task):
                number = self._running[task].pop()
                track = self._tracks[number]
                track.ends[-1] = when_ms
                if meaning.has_task_failed:
                    track.failed.add(len(track.ends) - 1)

    def _begin(self, when_ms: int, task: int) -> None:
        free = (at for at, each in enumerate(self._tracks) if each.ends[-1] != _OPEN_MS)
        number = next(free, len(self._tracks))
        if number == len(self._tracks):
            self._tracks.append(_Track())
        track = self._tracks[number]
        track.begins.append(when_ms)
        track.ends.append(_OPEN_MS)
        track.tasks.append(task)
        self._running.setdefault(task, []).append(number)

    def spans(self, begin_ms: int, end_ms: int) -> list[list[TaskSpan]]:
        """Return the tasks of a time, track by track."""
        return [track.spans(begin_ms, end_ms) for track in self._tracks]

    def running_at(self, when_ms: int) -> list[TaskSpan]:
        """Return the tasks that ran at a moment, in the order of their starts."""
        found = (span for spans in self.spans(when_ms, when_ms + 1) for span in spans)
        return sorted(found, key=lambda span: span.begin_ms)

    def number(self, begin_ms: int, end_ms: int) -> int:
        """Return the number of tasks that began in a time."""
        return sum(bisect_left(each.begins, end_ms) - bisect_left(each.begins, begin_ms) for each in self._tracks)
