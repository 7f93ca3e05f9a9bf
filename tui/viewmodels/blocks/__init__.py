"""Blocks of properties of one thing each: details beside lists and pages of blades are made of them."""
