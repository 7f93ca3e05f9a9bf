"""The resources of a run as plain data for lists and pages: an order of row numbers, and one row made when it is drawn.

A screen that lists a million rows draws forty of them, so the order is cheap and the rows are made one by one.
"""
