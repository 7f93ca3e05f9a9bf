"""What readers see of a simulation: rows, counts and texts, made from the state and the log, which they never change."""
