"""The lists: columns, filters and sorting, and the rows of each list, the event log among them."""
