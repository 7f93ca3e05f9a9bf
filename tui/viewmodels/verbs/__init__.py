"""What can be done to nodes, tasks, jobs, job schedules and pools: tables of verbs."""
