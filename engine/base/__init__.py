"""Foundations that depend on nothing else in the engine: terms, errors, values, paths, lifecycles, calendar and log.

Future events are in the calendar, past ones in the log.
"""
