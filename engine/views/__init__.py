"""Read-only answers about a run: they read state and log, change nothing, and know no screen.

The folders and modules, from the bottom up; each imports only those above it in this table:

==================== ============================================================================================
bulk, hook_status    columns of values for many rows at once, and the statuses of preparation and release
log                  folds of the event log: histories, counts, last changes, series over time, lanes of nodes
rest                 the REST bodies of the service, and the files on nodes
resources            the rows of lists, made one by one, with their columns, groups and order
diagnosis            answers to "why?", concerns, expectations and expected ends
results              the outcome of a run: totals, report, state as JSON, scenario file with the commands given by hand
tables, trace        files for other programs: tasks and events as tables, and the trace
==================== ============================================================================================

Errors of direct look-ups are ``BatchError``. A few answers are there for an HTTP endpoint alone:
``rest.account.task_counts``, ``rest.tasks.instance_on``, ``rest.nodes.remote_desktop_file``.
"""
