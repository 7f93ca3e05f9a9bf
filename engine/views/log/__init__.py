"""Folds of the event log: the history of one task, job, node or pool, counts, series over time, and lanes of nodes."""
