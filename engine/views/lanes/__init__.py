"""The activity of each node over time, read from the log."""
