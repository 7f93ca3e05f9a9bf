"""The programs that the small shell knows, and what they have in common: calls, streams, options."""
