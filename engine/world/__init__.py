"""The state of one run at one moment, and what is due in it."""
