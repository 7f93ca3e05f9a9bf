"""The behaviour of the service: one module for each chapter of ``RULES.md``, citing its rules by id.

A chapter decides with pure functions, changes the world through its tables, and emits facts. Other chapters react to
facts as ``reactions`` lists; no chapter imports another one. What several chapters need is below them: pure
``decisions``, and the ``processes`` on nodes.
"""
