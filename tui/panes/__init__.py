"""Parts of the screen: they arrange widgets, keep them up to date, and say what they are for."""
