"""The files on a node: their tree, their text, and how long they are kept."""
