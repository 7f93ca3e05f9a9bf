"""The event list, the views that its events lead to, and bookmarked moments."""
