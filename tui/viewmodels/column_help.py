"""What each column of the lists says, in a sentence; of those that are ours, how they are computed."""

from __future__ import annotations

_SAID = {
    "Allocation": "steady, resizing or stopping, as the pool gets or gives up nodes",
    "Command line": "what is run",
    "Cost": "node hours so far times the price of the node size; Spot nodes have a price of their own",
    "Created": "when it was added",
    "Dedicated": "whether the node is dedicated or Spot",
    "Duration": "end time less start time; while it runs, the time since its start",
    "End time": "when it ended",
    "Ended": "when it was completed",
    "Entity": "the pool, node, job or task that the event is about",
    "Every": "how often a job is due",
    "Exit code": "what the process returned; empty where none ended",
    "Failure code": "the service's code for the failure",
    "Focus job": "how the node stands with the job in focus: release once that is under way, preparation before",
    "IP address": "the node's address in its subnet",
    "In state": "the time since the state last changed",
    "Job": "the job's id",
    "Job schedule": "the schedule's id",
    "Jobs": "how many jobs it has made",
    "Kind": "what sort of event it is",
    "Last boot": "when the node last started",
    "Missed": "occurrences that passed without a job, for the one before was still there",
    "Next run": "when the next job is due",
    "Node": "its index in the pool, as scenarios name it, and its id with the middle left out",
    "Node size": "the size of the virtual machines",
    "Node state": "the state of the node now, or that it has left the pool",
    "Pool": "the pool's id",
    "Preparation": "nodes that have prepared, of those that were asked to; after a cross those that failed",
    "Priority": "-1000 to 1000; jobs of higher priority are served first",
    "Reason": "why the job was terminated",
    "Recent job": "the job that was made last",
    "Release": "nodes that have released, of those that are to; after a cross those that failed",
    "Requeues": "how often the service put it back into the queue: the node failed, or was rebooted",
    "Result": "success or failure, once it is completed",
    "Retries": "how often it was run again because it failed",
    "Rule": "the rule of the behaviour that decided; the README of the engine says where it is",
    "Running tasks": "task slots in use, of all slots of the node",
    "Runs": "how often it was started on this node; more than once after a retry, a reboot or a reimage",
    "Scheduling": "whether the node takes new tasks",
    "Slots": "how many task slots it takes on its node",
    "Slots in use": "task slots in use, of all slots of the nodes that can run tasks",
    "Spot": "Spot nodes, now and as targeted",
    "Start time": "when it started last",
    "Starts": "how often it was started, retries and requeues included",
    "State": "the service's state; the table below has them all",
    "Task": "the task's id",
    "Tasks": "completed tasks, of all; after a cross those that failed",
    "Time": "when it happened",
    "Total successful": "tasks that ended with success here",
    "Total tasks run": "tasks that ended here, however they ended",
    "What": "what happened, or what was said about it",
}
_SAID_OF = {
    ("Pools", "Dedicated"): "dedicated nodes, now and as targeted",
    ("Pools", "State"): "active, or deleting",
    ("Job schedules", "State"): "active makes jobs, disabled does not; completed and terminating make no more",
    ("Preparation tasks", "State"): "running or completed; which of the derived statuses it is, the glyph says",
    ("Release tasks", "State"): "running or completed; which of the derived statuses it is, the glyph says",
}


def said_of(title: str, column: str) -> str:
    """What a column of a list says; empty for one that is not known."""
    return _SAID_OF.get((title, column), _SAID.get(column, ""))
