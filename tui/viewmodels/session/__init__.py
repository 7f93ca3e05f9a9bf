"""The run on the screen: focus, selected rows, pins, visited views, and the item under the cursor."""
