"""The Textual application: its start and end, the main screen, and the controllers behind its keys."""
