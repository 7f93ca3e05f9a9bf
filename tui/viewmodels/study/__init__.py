"""The study of a scenario: variants as a table and as a scatter plot, runs of a variant, and what to study."""
