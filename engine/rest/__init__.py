"""The REST endpoint: Batch's data plane over HTTP, so that unmodified clients talk to a simulation.

A request (``messages``) of a caller that may send it (``hosts``) is routed, authenticated and read (``service``) and
given to the handler of its operation (``handlers``, ``jobs``, ``pools``), which submits a command or reads a view and
answers. All of that is plain functions of a request and a simulation. Only ``server`` knows HTTP libraries, and only
it, ``session`` and ``service`` the wall clock. ``session`` keeps a run going for clients while a dashboard shows its
past; ``testing`` serves an account to tests.
"""
