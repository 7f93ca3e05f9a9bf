"""Curves over time: what they show, how they are drawn, and how several of them share the room."""
