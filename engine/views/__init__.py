"""What readers see of a run: they read state and log, change nothing, and know no screen.

``document`` is the state as JSON, ``report`` the summary of a run, ``node_files`` what lies on the nodes,
``node_traces`` whose directories are or were there, ``counts`` what the service counts, ``explain`` why something is as
it is; ``rest_*`` make the service's own bodies, for the document, the details of the dashboard and an endpoint alike.
Errors of direct look-ups are ``BatchError``.
"""
