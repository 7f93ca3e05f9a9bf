"""The outcome of a run: totals, report, state as JSON, and the scenario file with what was done by hand."""
