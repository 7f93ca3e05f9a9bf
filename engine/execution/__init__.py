"""Real execution: command lines that really run, for nodes that are folders of this machine.

The rules know only that the end of such a process is not known before it comes, as an input
(``Simulation.end_process``). What is here starts, watches and ends the programs, and is imported by nothing but the
commands with ``--execute``.
"""
