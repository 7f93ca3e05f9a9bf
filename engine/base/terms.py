"""The vocabulary: every state, option and result, with its spelling on the wire.

States live in columns and are compared millions of times, so they are small integers with a
``wire`` spelling. Options arrive as text in bodies and are compared rarely, so they are strings.
The spelling on the wire is the member's name in lower case without underscores (GEN-5).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""A JSON value."""


class State(IntEnum):
    """Base of the states: an integer in a column, lower-case text everywhere else."""

    @property
    def wire(self) -> str:
        """The service's spelling, for instance ``waitingforstarttask`` (GEN-5)."""
        return self._name_.replace("_", "").lower()


class PoolState(State):
    """POOL-7."""

    ACTIVE = 0
    DELETING = 1


class AllocationState(State):
    """POOL-7."""

    STEADY = 0
    RESIZING = 1
    STOPPING = 2


class NodeState(State):
    """NODE-8."""

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
    """NODE-7."""

    ENABLED = 0
    DISABLED = 1


class JobState(State):
    """JOB-5."""

    ACTIVE = 0
    DISABLING = 1
    DISABLED = 2
    ENABLING = 3
    TERMINATING = 4
    COMPLETED = 5
    DELETING = 6


class JobScheduleState(State):
    """JS-6."""

    ACTIVE = 0
    DISABLED = 1
    TERMINATING = 2
    COMPLETED = 3
    DELETING = 4


class CertificateState(State):
    """CERT-4."""

    ACTIVE = 0
    DELETING = 1
    DELETE_FAILED = 2


class TaskState(State):
    """TASK-7."""

    ACTIVE = 0
    PREPARING = 1
    RUNNING = 2
    COMPLETED = 3


class SubtaskState(State):
    """MI-7; the numbers are those of ``TaskState``."""

    PREPARING = 1
    RUNNING = 2
    COMPLETED = 3


class InstanceState(State):
    """A start, preparation or release task on one node (PREP-5, START-8): absent, or one of these."""

    RUNNING = 1
    COMPLETED = 2


class WireOption(StrEnum):
    """Base of the options: text on the wire, compared without regard to case (GEN-5)."""

    @classmethod
    def _missing_(cls, value: object) -> WireOption | None:
        if isinstance(value, str):
            lowered = value.lower()
            for member in cls:
                if member.value.lower() == lowered:
                    return member
        return None


class Deallocation(WireOption):
    """What happens to running tasks when a node goes (RSZ-4) or is operated on (NOP-1)."""

    REQUEUE = "requeue"
    TERMINATE = "terminate"
    TASK_COMPLETION = "taskcompletion"
    RETAINED_DATA = "retaineddata"


class DisableTasks(WireOption):
    """What disabling a job does to its running tasks (JOB-11)."""

    REQUEUE = "requeue"
    TERMINATE = "terminate"
    WAIT = "wait"


class OnAllTasksComplete(WireOption):
    """JOB-7."""

    NO_ACTION = "noaction"
    TERMINATE_JOB = "terminatejob"


class OnTaskFailure(WireOption):
    """JOB-21."""

    NO_ACTION = "noaction"
    PERFORM_EXIT_OPTIONS_JOB_ACTION = "performexitoptionsjobaction"


class JobAction(WireOption):
    """EXIT-5."""

    NONE = "none"
    DISABLE = "disable"
    TERMINATE = "terminate"


class DependencyAction(WireOption):
    """EXIT-3."""

    SATISFY = "satisfy"
    BLOCK = "block"


class NodeFillType(WireOption):
    """SCHED-9."""

    SPREAD = "spread"
    PACK = "pack"


class JobDefaultOrder(WireOption):
    """SCHED-5."""

    NONE = "none"
    CREATION_TIME = "creationtime"


class PoolLifetimeOption(WireOption):
    """AUTO-2."""

    JOB = "job"
    JOB_SCHEDULE = "jobschedule"


class TaskResult(WireOption):
    """TASK-10."""

    SUCCESS = "success"
    FAILURE = "failure"


class ErrorCategory(StrEnum):
    """GEN-5: categories keep their capitals."""

    USER_ERROR = "UserError"
    SERVER_ERROR = "ServerError"


class OsFamily(WireOption):
    """Decides paths, the shell and the default timings (FILE-1, TASK-4, TIME-4)."""

    LINUX = "linux"
    WINDOWS = "windows"
    CLOUD_SERVICE = "cloudservice"
