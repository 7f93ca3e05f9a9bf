"""The vocabulary of the service: its states, options and results, and their spelling on the wire.

States are stored in columns and compared millions of times, so they are small integers with a ``wire`` spelling, the
member's name in lower case without underscores (GEN-5). Options arrive as text and are compared rarely, so they are
strings.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""A JSON value."""


class State(IntEnum):
    """Base of the states: an integer in a column, lower-case text on the wire."""

    @property
    def wire(self) -> str:
        """The service's spelling, for instance ``waitingforstarttask`` (GEN-5)."""
        return self._name_.replace("_", "").lower()


class PoolState(State):
    """The state of a pool (POOL-7)."""

    ACTIVE = 0
    DELETING = 1


class AllocationState(State):
    """The allocation state of a pool (POOL-7)."""

    STEADY = 0
    RESIZING = 1
    STOPPING = 2


class NodeState(State):
    """The state of a node (NODE-8)."""

    CREATING = 0
    STARTING = 1
    WAITING_FOR_START_TASK = 2
    START_TASK_FAILED = 3
    IDLE = 4
    RUNNING = 5
    REBOOTING = 6
    REIMAGING = 7
    UPGRADING_OS = 8
    UNUSABLE = 9
    UNKNOWN = 10
    OFFLINE = 11
    LEAVING_POOL = 12
    PREEMPTED = 13
    DEALLOCATING = 14
    DEALLOCATED = 15


class SchedulingState(State):
    """The scheduling state of a node, which decides if it accepts new tasks (NODE-7)."""

    ENABLED = 0
    DISABLED = 1


class JobState(State):
    """The state of a job (JOB-5)."""

    ACTIVE = 0
    DISABLING = 1
    DISABLED = 2
    ENABLING = 3
    TERMINATING = 4
    COMPLETED = 5
    DELETING = 6


class JobScheduleState(State):
    """The state of a job schedule (JS-6)."""

    ACTIVE = 0
    DISABLED = 1
    TERMINATING = 2
    COMPLETED = 3
    DELETING = 4


class CertificateState(State):
    """The state of a certificate (CERT-4)."""

    ACTIVE = 0
    DELETING = 1
    DELETE_FAILED = 2


class TaskState(State):
    """The state of a task (TASK-7)."""

    ACTIVE = 0
    PREPARING = 1
    RUNNING = 2
    COMPLETED = 3


class SubtaskState(State):
    """The state of a subtask (MI-7), numbered like ``TaskState``."""

    PREPARING = 1
    RUNNING = 2
    COMPLETED = 3


class InstanceState(State):
    """The state of a start, preparation or release task on one node (PREP-5, START-8)."""

    RUNNING = 1
    COMPLETED = 2


class WireOption(StrEnum):
    """Base of the options: text that is compared without regard to case (GEN-5)."""

    @classmethod
    def _missing_(cls, value: object) -> WireOption | None:
        if isinstance(value, str):
            lowered = value.lower()
            for member in cls:
                if member.value.lower() == lowered:
                    return member
        return None


class Deallocation(WireOption):
    """The treatment of running tasks when a node is removed (RSZ-4) or operated on (NOP-1)."""

    REQUEUE = "requeue"
    TERMINATE = "terminate"
    TASK_COMPLETION = "taskcompletion"
    RETAINED_DATA = "retaineddata"


class DisableTasks(WireOption):
    """The treatment of running tasks when their job is disabled (JOB-11)."""

    REQUEUE = "requeue"
    TERMINATE = "terminate"
    WAIT = "wait"


class OnAllTasksComplete(WireOption):
    """The reaction to the completion of all tasks of a job (JOB-7)."""

    NO_ACTION = "noaction"
    TERMINATE_JOB = "terminatejob"


class OnTaskFailure(WireOption):
    """The reaction to a task's failure (JOB-21)."""

    NO_ACTION = "noaction"
    PERFORM_EXIT_OPTIONS_JOB_ACTION = "performexitoptionsjobaction"


class JobAction(WireOption):
    """The action of an exit condition on the job (EXIT-5)."""

    NONE = "none"
    DISABLE = "disable"
    TERMINATE = "terminate"


class DependencyAction(WireOption):
    """The action of an exit condition on dependent tasks (EXIT-3)."""

    SATISFY = "satisfy"
    BLOCK = "block"


class NodeFillType(WireOption):
    """The distribution of tasks over nodes (SCHED-9)."""

    SPREAD = "spread"
    PACK = "pack"


class JobDefaultOrder(WireOption):
    """The order of jobs of the same priority (SCHED-5)."""

    NONE = "none"
    CREATION_TIME = "creationtime"


class PoolLifetimeOption(WireOption):
    """The lifetime of an auto pool (AUTO-2)."""

    JOB = "job"
    JOB_SCHEDULE = "jobschedule"


class ReleaseAfter(WireOption):
    """The condition on which a node runs a job's release task (REL-3)."""

    TASK = "task"
    PREPARATION = "preparation"


class AutoScaleRetries(WireOption):
    """The errors of a resize after which an evaluation with the same targets begins one again (AS-80)."""

    PASSING = "passing"
    ALL = "all"
    NONE = "none"


class TaskResult(WireOption):
    """The result of a task (TASK-10)."""

    SUCCESS = "success"
    FAILURE = "failure"


class NodeProfile(WireOption):
    """A named set of durations of the steps in a node's life (TIME-2)."""

    QUICK = "quick"
    TYPICAL = "typical"
    SLOW = "slow"


class OsFamily(WireOption):
    """The operating system, which decides paths, the shell and the default timings (FILE-1, TASK-4, TIME-4)."""

    LINUX = "linux"
    WINDOWS = "windows"
    CLOUD_SERVICE = "cloudservice"
