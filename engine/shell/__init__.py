"""Execution of processes: the protocol of executors, the simulated one, and the small shell that it runs.

The small shell reads command lines and scripts into syntax trees (``lexer``, ``words``, ``cmd``), runs them
(``interpreter``, ``control_flow``, ``expansion``) and has the programs that they use, from ``builtins`` to ``sort``.
"""
