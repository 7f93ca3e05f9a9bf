"""Limits of retries: whether a process that has ended may run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.specs.pool import StartTask


def may_retry(most: int, retries: int) -> bool:
    """Return whether a process that was retried ``retries`` times may be retried again; -1 is no limit (RETRY-3)."""
    return most < 0 or retries < most


def start_retry_verdict(spec: StartTask, retries: int, exit_code: int | None) -> bool:
    """Return whether a start task that has just ended runs again: only after a nonzero exit code (START-4)."""
    return bool(exit_code) and may_retry(spec.max_task_retry_count, retries)
