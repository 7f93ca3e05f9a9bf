"""What readers see of a run: they read state and log, change nothing, and know no screen.

``document`` is the state as JSON, ``report`` the summary of a run, ``node_files`` what lies on the nodes,
``node_traces`` whose directories are or were there, ``counts`` what the service counts, ``explain`` why something is as
it is; ``rest_*`` make the service's own bodies, for the document, the details of the dashboard and an endpoint alike.

Errors of direct look-ups are ``BatchError``. Some answers to a single request are there for an endpoint alone, for the
dashboard and the document tell the same otherwise: ``counts.task_counts``, ``prep_release.preparation_on`` and
``release_on``, ``rest_nodes.remote_desktop_file``.
"""
