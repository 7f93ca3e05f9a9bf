"""What a run leaves for other programs: its trace for timeline viewers, and its tasks as a table."""
