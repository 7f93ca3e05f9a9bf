"""Tasks (chapters 10, 13 and 14): operations on them, their attempts, and what stops an attempt from outside."""
