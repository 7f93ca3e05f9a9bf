"""Foundations that depend on nothing else in the engine: terms, errors, units, paths, lifecycles."""
