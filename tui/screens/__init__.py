"""Screens: the deck with its views, and what opens above it."""
