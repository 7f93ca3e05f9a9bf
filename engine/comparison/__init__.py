"""Two runs side by side, or a run and what really happened: their figures, and the difference of each."""
