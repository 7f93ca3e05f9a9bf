"""The timeline: rows of nodes, jobs, tasks and instances over time, the pool band, the SVG export."""
