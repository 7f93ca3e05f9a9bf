"""Autoscale: formulas, evaluations and their history."""
