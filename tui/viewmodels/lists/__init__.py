"""The list pages: columns, filters and sorting, and the rows of each list."""
