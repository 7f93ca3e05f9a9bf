"""Simulated time: the calendar of future events and the log of past ones."""
