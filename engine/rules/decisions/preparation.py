"""Verdicts about preparation (chapter 11): what tasks wait for on a node, and when a preparation runs again."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, TaskResult
from engine.executors.protocol import TIME_LIMIT
from engine.rules.decisions.tasks import may_retry
from engine.state.instances import PrepFlag

if TYPE_CHECKING:
    from engine.specs.job import JobPreparationTask
    from engine.state.instances import InstanceView


class PrepVerdict(Enum):
    """The condition of a node for a task of a job: it may start, must wait, or is refused."""

    GO = auto()
    PREPARE = auto()
    PREPARE_AND_GO = auto()
    WAIT = auto()
    REFUSE = auto()


def prep_verdict(flags: int, state: int, prep: JobPreparationTask) -> PrepVerdict:
    """Return what a task of this job must wait for on a node, given the node's flags and record.

    A preparation runs where no valid success is recorded (PREP-3); tasks wait for a running one (PREP-6), unless
    waitForSuccess is false (PREP-13). A final failure refuses the node (PREP-9). A reboot may have voided a success
    (PREP-16): then the flag is gone.
    """
    if flags & PrepFlag.VALID:
        return PrepVerdict.GO
    if flags & PrepFlag.INELIGIBLE:
        return PrepVerdict.REFUSE
    if state == InstanceState.RUNNING:
        return PrepVerdict.WAIT if prep.wait_for_success else PrepVerdict.GO
    return PrepVerdict.PREPARE if prep.wait_for_success else PrepVerdict.PREPARE_AND_GO


def prep_retry_verdict(prep: JobPreparationTask, retries: int) -> bool:
    """Return whether a preparation that exited nonzero runs again on its node (PREP-12).

    The job's own count of retries does not apply.
    """
    return may_retry(prep.constraints.max_task_retry_count, retries)


def is_final_failure(view: InstanceView | None) -> bool:
    """Return whether the last run failed by itself, and was not stopped with its node or job."""
    if view is None or view.result is not TaskResult.FAILURE:
        return False
    return view.failure is None or view.failure.code != "TaskEnded" or view.failure == TIME_LIMIT


def voided_by_reboot(flags: int, state: int, prep: JobPreparationTask, *, retries_failure: bool) -> int:
    """Return the flags that a reboot takes from a node, so that the preparation runs again; 0 for none.

    One that was running always runs again (PREP-15), a success unless the job says otherwise (PREP-16). A final failure
    stays what it is, unless it is to be tried again after a reboot (PREP-17).
    """
    if state == InstanceState.RUNNING:
        return PrepFlag.VALID
    if retries_failure:
        return PrepFlag.VALID | PrepFlag.INELIGIBLE
    if flags & PrepFlag.INELIGIBLE or not prep.rerun_on_node_reboot_after_success:
        return 0
    return PrepFlag.VALID


def start_rule(flags: int, before: InstanceView | None, *, retries_failure: bool) -> str:
    """Return the rule by which the preparation starts for a task, given the node's flags and its last record.

    There was none (PREP-3), the disk is new (PREP-18), a reboot has voided a success (PREP-16), or a final failure that
    is to be tried again (PREP-17), or it was stopped (PREP-15).
    """
    if before is None:
        return "PREP-3"
    if not flags & PrepFlag.PREPARED_ONCE:
        return "PREP-18"
    if retries_failure and is_final_failure(before):
        return "PREP-17"
    return "PREP-16" if before.result is TaskResult.SUCCESS else "PREP-15"
