"""Expected ends and usual durations of what runs."""
