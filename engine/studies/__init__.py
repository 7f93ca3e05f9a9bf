"""Studies: many runs of one scenario with other values and seeds, measured and summarized by plain functions."""
