"""The REST endpoint: Batch's data plane over HTTP, so that unmodified clients talk to a simulation.

A request is read (``requests``), routed (``routes``), authenticated (``authentication``) and given to the handler of
its operation (``operations``), which submits a command or reads a view and answers (``answers``). All of that is plain
functions of a request and a simulation. Only ``application`` knows ASGI, and only ``clock`` the wall clock.
"""
