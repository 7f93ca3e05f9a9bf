"""The names that the service defines for formulas."""

from __future__ import annotations

from engine.autoscale.values import Interval, Value

DEDICATED = "$TargetDedicatedNodes"
LOW_PRIORITY = "$TargetLowPriorityNodes"
OPTION = "$NodeDeallocationOption"

# Targets by full name and by alias, with both in order of precedence (AS-35, AS-37).
TARGETS = {
    name: names for names in ((DEDICATED, "$TargetDedicated"), (LOW_PRIORITY, "$TargetLowPriority")) for name in names
}

# Names whose value is the name itself (AS-40).
REQUEUE = "requeue"
OPTIONS = (REQUEUE, "terminate", "taskcompletion", "retaineddata")

# Metrics whose bare name is the current state of the pool (AS-46).
LIVE = (
    "$CurrentDedicatedNodes",
    "$CurrentLowPriorityNodes",
    "$PreemptedNodeCount",
    "$UsableNodeCount",
    "$TaskSlotsPerNode",
)

# Metrics by name, including the one alias (AS-41).
METRICS = {name: name for name in LIVE} | {
    "$CurrentDedicated": "$CurrentDedicatedNodes",
    "$ActiveTasks": "$ActiveTasks",
    "$RunningTasks": "$RunningTasks",
    "$PendingTasks": "$PendingTasks",
    "$SucceededTasks": "$SucceededTasks",
    "$FailedTasks": "$FailedTasks",
    "$CPUPercent": "$CPUPercent",
    "$SampleNodeCount": "$SampleNodeCount",
    "$WallClockSeconds": "$WallClockSeconds",
    "$MemoryBytes": "$MemoryBytes",
    "$DiskBytes": "$DiskBytes",
    "$DiskReadBytes": "$DiskReadBytes",
    "$DiskWriteBytes": "$DiskWriteBytes",
    "$DiskReadOps": "$DiskReadOps",
    "$DiskWriteOps": "$DiskWriteOps",
    "$NetworkInBytes": "$NetworkInBytes",
    "$NetworkOutBytes": "$NetworkOutBytes",
}

_SECOND = 10_000_000  # in ticks of 100 ns
_DAY = 86_400 * _SECOND

# Read-only names (AS-40, AS-43).
CONSTANTS: dict[str, Value] = {
    "TimeInterval_Zero": Interval(0),
    "TimeInterval_100ns": Interval(1),
    "TimeInterval_Microsecond": Interval(10),
    "TimeInterval_Millisecond": Interval(10_000),
    "TimeInterval_Second": Interval(_SECOND),
    "TimeInterval_Minute": Interval(60 * _SECOND),
    "TimeInterval_Hour": Interval(3600 * _SECOND),
    "TimeInterval_Day": Interval(_DAY),
    "TimeInterval_Week": Interval(7 * _DAY),
    "TimeInterval_Year": Interval(365 * _DAY),
}
CONSTANTS |= dict(zip(OPTIONS, OPTIONS, strict=True))

READ_ONLY = METRICS.keys() | CONSTANTS.keys()
