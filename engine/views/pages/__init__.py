"""The rows of the screen's lists, as plain data: an order of row numbers, and one row made when it is looked at.

Whoever shows a list of a million rows draws forty of them, so the order is cheap and the rows are made one by one.
"""
