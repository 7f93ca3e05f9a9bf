"""Playing a simulation on the event loop that also reads the keyboard."""
