"""Widgets that draw only the lines that are seen."""
