"""The sheets that open above a view: help, settings and why."""
