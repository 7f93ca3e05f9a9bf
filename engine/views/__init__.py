"""Read-only answers about a run: they read state and log, change nothing, and know no screen.

The rooms, from the bottom up; each imports only those above it in this table:

=========== ======================================================================================================
log         folds of the event log: the history of one task, job, node or pool, and counts of what happened
rest        the REST bodies of the service, and the files on nodes
pages       the rows of lists, made one by one, and columns of values for many rows at once
lanes       the activity of each node over time
estimates   expected ends and usual durations
explain     answers to "why?": conditions, reasons, and the next event that can change them
results     the outcome of a run: totals, report, state as JSON, scenario file with what was done by hand
exports     what a run leaves for other programs: its trace, and its tasks as a table
=========== ======================================================================================================

Errors of direct look-ups are ``BatchError``. A few answers are there for an HTTP endpoint alone:
``rest.jobs.task_counts``, ``rest.prep_release.preparation_on`` and ``release_on``, ``rest.nodes.remote_desktop_file``.
"""
