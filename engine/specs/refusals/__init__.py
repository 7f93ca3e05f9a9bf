"""Checks for what the service refuses in a body regardless of its state.

Each check is a pure function from a body to its refusals, in the order of the body. An empty list means that the body
is acceptable. Checks that need other objects (ids in use, allocation state, quotas) are in the rules.
"""
