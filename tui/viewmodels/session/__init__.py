"""The run on the screen: focus, marks, pins, visited views, and what the cursor is on."""
