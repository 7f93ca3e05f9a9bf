"""The Textual application: its start and end, keyboard input and signals."""
