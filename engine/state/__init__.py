"""The tables: what is true now. Only their own methods change a state, and each change is logged."""
