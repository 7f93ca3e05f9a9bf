"""Studies and comparisons: many runs of one scenario summarized, or two runs or histories side by side.

Both work on the measures of finished runs and consist of plain functions.
"""
