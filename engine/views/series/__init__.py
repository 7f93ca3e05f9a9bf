"""Time series of nodes, tasks, preparation and cost, read from the log while a run goes on."""
