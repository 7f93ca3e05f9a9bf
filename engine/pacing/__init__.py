"""Pacing a simulation by the wall clock, for the dashboard and for the REST endpoint."""
