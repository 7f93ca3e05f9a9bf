"""Time: the calendar of what will happen and the log of what has happened."""
