"""Concerns: failures, shortages and delays of the whole run that a user should know of."""
