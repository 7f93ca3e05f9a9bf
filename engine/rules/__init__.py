"""What the service does: one module a chapter of the behavioural specification, rules cited by id.

A decision is a pure function that returns a verdict; the action after it is a few lines. Rules touch the
world through its tables, calendar and log, and know neither files nor screens nor the wall clock.
"""
