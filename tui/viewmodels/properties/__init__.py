"""Blocks of properties of a node, pool, job, task or instance, for detail panes and detail pages."""
