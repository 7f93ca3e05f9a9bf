"""The REST endpoint: Batch's data plane over HTTP, so that unmodified clients talk to a simulation.

A request is routed, authenticated and read (``protocol``) and given to the handler of its operation (``operations``),
which submits a command or reads a view and answers. All of that is plain functions of a request and a simulation.
Only ``application`` and ``server`` know HTTP libraries, and only they, ``clock`` and ``service`` the wall clock.
``present`` keeps a run going for clients while a dashboard shows its past; ``testing`` serves an account to tests.
"""
