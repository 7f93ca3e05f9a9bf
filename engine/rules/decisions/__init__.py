"""Decisions that several chapters of the rules ask for: pure functions of the world that change nothing."""
