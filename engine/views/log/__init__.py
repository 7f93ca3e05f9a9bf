"""Folds of the event log: the history of one task, job, node or pool, and counts of what happened."""
