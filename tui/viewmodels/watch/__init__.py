"""The Watch view: arrangement, jobs strip, attention, node map, charts and curves."""
